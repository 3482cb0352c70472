"""Signing in with a second factor: the password opens no session, and every way in asks for the code."""

import re

import httpx2
import pytest

from openslot.app import create_app
from openslot.domains.accounts.invitations import operations as invitations
from openslot.domains.accounts.members import operations as members
from openslot.domains.accounts.models import User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.environment import load_settings
from openslot.platform.core.work import Runtime
from tests.doors.web.conftest import sign_in
from tests.support.clocks import MovingClock
from tests.support.live import connect, serving
from tests.support.page import read_page
from tests.support.passwords import PASSWORD
from tests.support.two_factor import App, turn_on

STEP = "/login/two-factor"


async def send(client: httpx2.AsyncClient, code: str, wanted: str = "/") -> httpx2.Response:
    return await client.post(STEP, data={"code": code, "next": wanted})


async def is_in(client: httpx2.AsyncClient) -> bool:
    return (await client.get("/account")).status_code == 200


async def test_the_password_leads_to_the_code_and_the_code_to_the_page(
    client: httpx2.AsyncClient, runtime: Runtime, host: User, phone: App
) -> None:
    asked = await client.post("/login", data={"email": host.email, "password": PASSWORD, "next": "/bookings?view=past"})

    assert (asked.status_code, asked.headers["location"]) == (303, f"{STEP}?next=/bookings%3Fview%3Dpast")
    assert "openslot_session" not in str(asked.headers.get_list("set-cookie"))
    assert "openslot_device" not in str(asked.headers.get_list("set-cookie"))
    assert not await is_in(client)
    shown = await client.get(asked.headers["location"])
    assert shown.status_code == 200
    assert 'autocomplete="one-time-code"' in shown.text
    assert 'inputmode="numeric"' in shown.text
    assert read_page(shown).fields["next"].value == "/bookings?view=past"
    done = await send(client, phone.code(runtime), "/bookings?view=past")
    assert (done.status_code, done.headers["location"]) == (303, "/bookings?view=past")
    assert await is_in(client)


@pytest.mark.usefixtures("phone")
async def test_the_cookie_between_the_steps_is_short_lived_and_for_no_script(
    client: httpx2.AsyncClient, host: User
) -> None:
    (cookie,) = (await sign_in(client, host.email)).headers.get_list("set-cookie")

    assert re.match(r"openslot_sign_in=[\w-]{43};", cookie)
    parts = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert parts == {"httponly", "samesite=lax", "path=/", "max-age=600"}


async def test_the_cookie_is_for_this_host_alone_where_the_address_is_secure(
    settings: Settings, runtime: Runtime, clock: MovingClock, host: User, phone: App
) -> None:
    flags = {"database_url": settings.database_url, "data_dir": settings.data_dir, "base_url": "https://slots.example"}
    chosen = load_settings({**flags, "log_level": "error"}, environ={})
    async with serving(create_app(chosen, clock=clock)) as base_url, connect(base_url) as client:
        (cookie,) = (await sign_in(client, host.email)).headers.get_list("set-cookie")
        name, _, value = cookie.partition(";")[0].partition("=")
        sent = {"cookie": f"{name}={value}"}
        done = await client.post(STEP, data={"code": phone.code(runtime)}, headers=sent)

    assert name == "__Host-openslot_sign_in"
    assert {"secure", "path=/"} <= {part.strip().lower() for part in cookie.split(";")}
    assert "domain" not in cookie.lower()
    assert done.headers["location"] == "/"
    assert '__Host-openslot_sign_in=""; HttpOnly; Max-Age=0' in str(done.headers.get_list("set-cookie"))


async def test_a_wrong_code_is_told_at_its_field_and_not_shown_again(
    client: httpx2.AsyncClient, host: User, phone: App, runtime: Runtime
) -> None:
    await sign_in(client, host.email)
    for code in ("123123", "x", "é", "<script>alert(1)</script>", "9" * 20, "1" * 101, "", "1\x002"):
        answer = await send(client, code)

        assert answer.status_code in {400, 401}, code
        assert 'aria-invalid="true"' in answer.text
        assert "<script>alert" not in answer.text
        assert "set-cookie" not in answer.headers
        await runtime.pool.execute("delete from wrong_passwords")
        await runtime.pool.execute("delete from rate_log")
    assert (await send(client, phone.code(runtime))).status_code == 303


async def test_after_five_wrong_codes_even_the_right_one_has_to_wait(
    client: httpx2.AsyncClient, host: User, phone: App, runtime: Runtime
) -> None:
    await sign_in(client, host.email)
    codes = [(await send(client, "123123")).status_code for _ in range(5)]
    right = await send(client, phone.code(runtime))

    assert codes == [401] * 5
    assert right.status_code == 429
    assert re.search(r"Wait \d+ seconds?, then try again", right.text)
    assert not await is_in(client)


@pytest.mark.usefixtures("phone")
async def test_without_the_first_step_there_is_no_second(client: httpx2.AsyncClient) -> None:
    shown = await client.get(STEP)
    sent = await send(client, "123123")

    assert (shown.status_code, shown.headers["location"]) == (303, "/login")
    assert sent.status_code == 401
    assert "Your sign-in has expired" in read_page(sent).notices[0]


async def test_a_sign_in_that_took_too_long_begins_again(
    client: httpx2.AsyncClient, clock: MovingClock, host: User, phone: App, runtime: Runtime
) -> None:
    await sign_in(client, host.email)
    clock.pass_time(minutes=10)
    answer = await send(client, phone.code(runtime), "/bookings")

    assert answer.status_code == 401
    assert "Your sign-in has expired" in read_page(answer).notices[0]
    assert "/login?next=/bookings" in read_page(answer).addresses


async def test_one_never_lands_on_another_site(
    client: httpx2.AsyncClient, host: User, phone: App, runtime: Runtime
) -> None:
    await sign_in(client, host.email)
    shown = await client.get(STEP, params={"next": "//evil.example"})

    assert "evil.example" not in shown.text
    assert (await send(client, phone.code(runtime), "https://evil.example")).headers["location"] == "/"


async def test_who_is_signed_in_is_led_on(member: httpx2.AsyncClient) -> None:
    assert (await member.get(STEP, params={"next": "/bookings"})).headers["location"] == "/bookings"
    assert (await send(member, "123123", "/bookings")).headers["location"] == "/bookings"


async def test_a_code_from_another_site_is_refused(
    client: httpx2.AsyncClient, host: User, phone: App, runtime: Runtime
) -> None:
    await sign_in(client, host.email)
    code = {"code": phone.code(runtime)}
    answer = await client.post(STEP, data=code, headers={"origin": "https://evil.example"})

    assert answer.status_code == 403
    assert not await is_in(client)


async def test_an_invitation_with_a_first_password_asks_for_the_code_too(
    client: httpx2.AsyncClient, host: User, phone: App, runtime: Runtime
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name="Harbor", slug="harbor")
        await members.add_organization_member(work, organization, host)
        link = invitations.invitation_url(work.runtime, await invitations.make_invitation(work, organization, host))
        await work.db.execute("update users set password_hash = null where id = $1", host.id)
    answer = await client.post("/invite/" + link.rpartition("/")[2], data={"password": "a fresh long password"})

    assert answer.headers["location"] == f"{STEP}?next=/"
    assert not await is_in(client)
    assert (await send(client, phone.code(runtime))).headers["location"] == "/"
    assert await is_in(client)


async def test_api_keys_are_not_affected(
    client: httpx2.AsyncClient, user: User, bearer: dict[str, str], runtime: Runtime
) -> None:
    await turn_on(runtime, user)

    assert (await client.get("/api/v1/me", headers=bearer)).status_code == 200
