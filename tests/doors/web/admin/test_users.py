"""Pages of users: find one, change the plan, sign out, disable with a preview."""

import re

import httpx2

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from tests.support.host import TWELVE, Book, open_session
from tests.support.live import connect
from tests.support.page import read_page


async def test_users_are_found_by_name_plan_and_status(
    admin_user: User, user: User, stranger: User, admin: httpx2.AsyncClient, runtime: Runtime
) -> None:
    await runtime.pool.execute("update users set disabled_at = now() where id = $1", stranger.id)
    found = {}
    for query in ("", "?q=LINDQVIST", "?plan=FREE", "?status=disabled", "?q=nobody", "?plan=GOLD"):
        page = (await admin.get(f"/admin/users{query}")).text
        found[query] = re.findall(r"<strong><bdi>(\w+)", page)

    assert found == {
        "": ["Omar", "Mara", "Ada"],
        "?q=LINDQVIST": ["Mara"],
        "?plan=FREE": ["Ada"],
        "?status=disabled": ["Omar"],
        "?q=nobody": [],
        "?plan=GOLD": ["Omar", "Mara", "Ada"],
    }


async def test_a_plan_is_changed_and_recorded(admin: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    answer = await admin.post(f"/admin/users/{user.id}/plan", data={"plan": "FREE"})

    assert answer.headers["location"] == f"/admin/users/{user.id}?done=plan"
    assert await runtime.pool.fetchval("select plan from users where id = $1", user.id) == "FREE"
    assert "plan_changed" in (await admin.get(f"/admin/users/{user.id}")).text.replace(".", "_")
    assert (await admin.post(f"/admin/users/{user.id}/plan", data={"plan": "GOLD"})).status_code == 400


async def test_a_user_is_signed_out_everywhere(admin: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    session = await open_session(runtime, user)
    async with connect(str(admin.base_url), headers=session) as host:
        before = await host.get("/account")
        await admin.post(f"/admin/users/{user.id}/sign-out")
        after = await host.get("/account")

    assert (before.status_code, after.status_code) == (200, 303)


async def test_disabling_shows_what_is_cancelled_and_cancels_it(
    admin: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book
) -> None:
    await book()
    await book(TWELVE, name="Hana <i>Kim", email="hana@kim.example")
    preview = (await admin.get(f"/admin/users/{user.id}/disable")).text
    untouched = await runtime.pool.fetchval("select count(*) from bookings where status = 'CONFIRMED'")

    answer = await admin.post(f"/admin/users/{user.id}/disable", data={"reason": "Left"})

    assert "2 upcoming bookings will be cancelled" in preview
    assert "Hana &lt;i&gt;Kim" in preview
    assert untouched == 2
    assert answer.headers["location"] == f"/admin/users/{user.id}?done=disabled"
    assert await runtime.pool.fetchval("select count(*) from bookings where status = 'CANCELLED'") == 2
    assert (await admin.get(f"/admin/users/{user.id}/disable")).status_code == 303
    assert (await admin.post(f"/admin/users/{user.id}/enable")).status_code == 303
    assert await runtime.pool.fetchval("select disabled_at from users where id = $1", user.id) is None


async def test_the_last_administrator_stays(admin: httpx2.AsyncClient, runtime: Runtime, admin_user: User) -> None:
    closed = await admin.post(f"/admin/users/{admin_user.id}/disable", data={"reason": ""})
    demoted = await admin.post(f"/admin/users/{admin_user.id}/administrator", data={"admin": "no"})

    assert (closed.status_code, demoted.status_code) == (409, 409)
    row = await runtime.pool.fetchrow("select is_admin, disabled_at from users where id = $1", admin_user.id)
    assert row is not None
    assert row["is_admin"]
    assert row["disabled_at"] is None


async def test_making_an_administrator_asks_first(
    admin: httpx2.AsyncClient, runtime: Runtime, admin_user: User, user: User
) -> None:
    shown = read_page(await admin.get(f"/admin/users/{user.id}"))
    assert "Make administrator" not in shown.buttons
    asked = read_page(await admin.get(shown.links["Make administrator…"]))
    assert asked.headings == [f"Make {user.name} an administrator?"]
    assert not await runtime.pool.fetchval("select is_admin from users where id = $1", user.id)
    assert (await admin.post(f"/admin/users/{user.id}/administrator")).status_code == 303
    assert await runtime.pool.fetchval("select is_admin from users where id = $1", user.id)
    assert (await admin.get(f"/admin/users/{user.id}/administrator")).status_code == 303


async def test_a_second_administrator_can_be_made_and_unmade(
    admin: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    states = []
    for wanted in ("yes", "no"):
        assert (await admin.post(f"/admin/users/{user.id}/administrator", data={"admin": wanted})).status_code == 303
        states.append(await runtime.pool.fetchval("select is_admin from users where id = $1", user.id))

    assert states == [True, False]


STRANGE: list[str] = ["q=%00", "q=" + "x" * 300, "page=0", "page=99999999999", "q=%E2%80%AE"]


async def test_a_strange_address_is_answered(admin: httpx2.AsyncClient) -> None:
    for query in STRANGE:
        assert (await admin.get(f"/admin/users?{query}")).status_code in {200, 400}, query


async def test_an_unknown_user_is_not_found(admin: httpx2.AsyncClient) -> None:
    nobody = "/admin/users/01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e8f"
    for method, path in (("GET", nobody), ("GET", f"{nobody}/disable"), ("POST", f"{nobody}/sign-out")):
        assert (await admin.request(method, path)).status_code == 404
    assert (await admin.get("/admin/users/x")).status_code in {400, 404}
