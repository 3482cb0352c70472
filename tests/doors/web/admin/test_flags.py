"""Feature flags: for everyone, and for single users."""

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from tests.support.page import read_page

FLAG = "/admin/flags/booking_holds"


async def test_a_flag_is_switched_off_and_on(admin: httpx2.AsyncClient, runtime: Runtime) -> None:
    states = []
    for wanted in ("off", "on"):
        answer = await admin.post(FLAG, data={"enabled": wanted})
        assert answer.headers["location"] == f"{FLAG}?done={wanted}"
        states.append(await runtime.pool.fetchval("select enabled from flags where key = 'booking_holds'"))

    assert states == [False, True]
    assert "booking_holds" in read_page(await admin.get("/admin/flags")).text


async def test_a_user_has_a_setting_of_their_own_until_it_is_removed(
    admin: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    await admin.post(f"{FLAG}/overrides", data={"email": f" {user.email.upper()} ", "enabled": "off"})
    page = (await admin.get(FLAG)).text

    assert user.email in page
    assert "set separately for 1 user" in read_page(await admin.get("/admin/flags")).text
    assert (await admin.post(f"{FLAG}/overrides/{user.id}/remove")).status_code == 303
    assert await runtime.pool.fetchval("select count(*) from flag_overrides") == 0


@pytest.mark.parametrize("data", [{"email": "", "enabled": "on"}, {"email": "no@body.example", "enabled": "on"}])
async def test_a_user_that_is_not_there_is_a_fault_of_the_field(
    admin: httpx2.AsyncClient, runtime: Runtime, data: dict[str, str]
) -> None:
    answer = await admin.post(f"{FLAG}/overrides", data=data)

    assert answer.status_code == 400
    assert read_page(answer).faults.keys() == {"email"}
    assert await runtime.pool.fetchval("select count(*) from flag_overrides") == 0


async def test_an_unknown_flag_is_not_found(admin: httpx2.AsyncClient, user: User) -> None:
    for path in ("/admin/flags/nothing", "/admin/flags/%20"):
        assert (await admin.get(path)).status_code == 404
    assert (await admin.post("/admin/flags/nothing", data={"enabled": "on"})).status_code == 404
    assert (await admin.post(f"/admin/flags/nothing/overrides/{user.id}/remove")).status_code == 404
