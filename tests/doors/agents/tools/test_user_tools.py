"""Tools on users."""

import httpx2
import msgspec
import pytest

from openslot.domains.access import operations as access
from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.errors import AdministratorProtected, UsernameAlreadyExists
from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.accounts.plans import Plan
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Refusal
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import Book
from tests.doors.agents.tools.conftest import Run, events
from tests.support.clocks import MovingClock
from tests.support.effects import work_off

NOBODY = str(new_id())


async def test_get_user_shows_what_the_rest_api_shows_and_what_administrators_know(
    run: Run, client: httpx2.AsyncClient, bearer: dict[str, str], user: User
) -> None:
    me = (await client.get("/api/v1/me", headers=bearer)).json()
    known = {"locale": "en", "status": "active", "disabledAt": None, "isAdmin": False}

    assert await run("get_user", userId=str(user.id)) == me | known
    assert await run("get_user", email="MARA@lindqvist.example") == me | known


async def test_list_users_filters_and_pages(run: Run, runtime: Runtime, user: User, admin: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        for number in range(5):
            await people.welcome_user(work, UserWanted(email=f"u{number}@example.org", name=f"Free {number}"))
        await accounts.set_user_disabled(work, user, reason=None)
    newest = [
        str(row["id"]) for row in await runtime.pool.fetch("select id from users order by created_at desc, id desc")
    ]

    async def ids(**given: object) -> list[str]:
        return [row["id"] for row in (await run("list_users", **given))["data"]]

    assert await ids() == newest
    assert await ids(limit=3, page=2) == newest[3:6]
    assert (await run("list_users", limit=3, page=2))["pagination"] == {
        "page": 2,
        "limit": 3,
        "total": 7,
        "totalPages": 3,
    }
    assert await ids(plan="PRO") == await ids(status="disabled") == await ids(search="LINDQVIST") == [str(user.id)]
    assert await ids(plan="BUSINESS", status="active") == [str(admin.id)]
    assert (await run("list_users", plan="PRO", status="active"))["pagination"]["total"] == 0


async def test_no_tool_on_users_shows_a_secret(run: Run, runtime: Runtime, user: User) -> None:
    secret = await runtime.pool.fetchval("select password_hash from users where id = $1", user.id)
    shown = msgspec.json.encode(
        [
            await run("list_users"),
            await run("get_user", userId=str(user.id)),
            await run("get_user_settings", userId=str(user.id)),
            await run("get_user_activity", userId=str(user.id)),
        ]
    ).decode()

    assert secret
    assert secret not in shown
    assert "assword" not in shown
    assert "hash" not in shown.lower()


async def test_get_user_activity_tells_what_happened_and_who_did_it(
    run: Run, runtime: Runtime, user: User, admin: User, book: Book
) -> None:
    await book()
    await run("update_user_settings", userId=str(user.id), settings={"name": "Mara L."})
    rows = await runtime.pool.fetch("select id, type from events where tenant_id = $1 order by no desc", user.id)

    activity = await run("get_user_activity", userId=str(user.id))

    assert [(row["id"], row["type"]) for row in activity["data"]] == [(str(row["id"]), row["type"]) for row in rows]
    assert [row["type"] for row in activity["data"]][:2] == ["user.settings_changed", "booking.created"]
    assert activity["data"][0]["actor"] == {"kind": "agent", "agent": "support", "userId": None}
    assert activity["data"][0]["subjectId"] == str(user.id)
    assert activity["pagination"]["total"] == len(rows)
    assert [row["type"] for row in (await run("get_user_activity", userId=str(admin.id)))["data"]] == ["user.added"]
    second = await run("get_user_activity", userId=str(user.id), limit=1, page=2)
    assert [row["type"] for row in second["data"]] == ["booking.created"]


async def test_the_range_of_activity_is_by_time(run: Run, user: User, clock: MovingClock) -> None:
    clock.pass_time(days=3)
    await run("update_user_settings", userId=str(user.id), settings={"name": "Mara L."})

    async def types(**span: str) -> list[str]:
        found = await run("get_user_activity", userId=str(user.id), **span)
        assert found["pagination"]["total"] == len(found["data"])
        return [row["type"] for row in found["data"]]

    assert await types(**{"from": "2026-03-17"}) == ["user.settings_changed"]
    assert await types(to="2026-03-16") == ["user.added"]
    assert await types(**{"from": "2026-03-16", "to": "2026-03-19"}) == ["user.settings_changed", "user.added"]
    with pytest.raises(Refusal) as refused:
        await types(**{"from": "2026-03-19", "to": "2026-03-16"})
    assert refused.value.details == {"to": "must not be before from"}


async def test_settings_are_changed_one_by_one(run: Run, runtime: Runtime, user: User) -> None:
    before = await run("get_user_settings", userId=str(user.id))
    assert before == {
        "userId": str(user.id),
        "name": "Mara Lindqvist",
        "username": "mara",
        "timezone": "UTC",
        "locale": "en",
    }

    changed = await run(
        "update_user_settings", userId=str(user.id), settings={"timezone": "europe/berlin", "locale": "de"}
    )
    assert changed == before | {"timezone": "Europe/Berlin", "locale": "de"}
    changed = await run("update_user_settings", userId=str(user.id), settings={"username": "Mara-L", "name": " Mara "})

    assert changed == before | {"timezone": "Europe/Berlin", "locale": "de", "username": "mara-l", "name": "Mara"}
    assert await run("get_user_settings", userId=str(user.id)) == changed
    row = await runtime.pool.fetchrow("select name, username, zone, locale from users where id = $1", user.id)
    assert row is not None
    assert tuple(row.values()) == ("Mara", "mara-l", "Europe/Berlin", "de")
    facts = await events(runtime, "user.settings_changed")
    assert [sorted(fact["changed"]) for fact in facts] == [["locale", "zone"], ["name", "username"]]
    await run("update_user_settings", userId=str(user.id), settings={"name": "Mara"})
    assert len(await events(runtime, "user.settings_changed")) == 2


async def test_a_username_that_an_agent_has_changed_can_be_changed_back(run: Run, runtime: Runtime, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        other = await accounts.add_user(work, UserWanted(email="bo@other.example", name="Bo", username="bo"))
    await run("update_user_settings", userId=str(user.id), settings={"username": "mara-l"})
    with pytest.raises(UsernameAlreadyExists):
        await run("update_user_settings", userId=str(other.id), settings={"username": "mara"})
    changed = await run("update_user_settings", userId=str(user.id), settings={"username": "mara"})

    assert changed["username"] == "mara"


async def test_an_administrators_username_is_not_changed_and_the_error_says_so(
    run: Run, runtime: Runtime, admin: User
) -> None:
    with pytest.raises(AdministratorProtected) as refused:
        await run("update_user_settings", userId=str(admin.id), settings={"username": "stolen", "name": "Ada"})
    assert refused.value.details == {
        "settings.username": "can't be changed by an agent, because the user is an administrator"
    }
    settings = await run("update_user_settings", userId=str(admin.id), settings={"name": "Ada", "username": "ada"})

    assert (settings["name"], settings["username"]) == ("Ada", "ada")


@pytest.mark.parametrize(
    ("changes", "details"),
    [
        ({}, {"settings": "must have at least one field"}),
        ({"name": None}, {"settings.name": "must be a string, not null"}),
        ({"name": " "}, {"settings.name": "must be 1 to 200 characters on one line"}),
        ({"username": "ada"}, {"settings.username": "is taken"}),
        ({"username": "api"}, {"settings.username": "is reserved"}),
        ({"email": "x@example.org"}, {"settings.email": "is not a known field"}),
        ({"isAdmin": True}, {"settings.isAdmin": "is not a known field"}),
        (
            {"timezone": "Mars", "locale": "xx"},
            {
                "settings.timezone": "is not a time zone; use a name such as Europe/Berlin",
                "settings.locale": "must be one of en, de, fr, es, pt, ja, ar",
            },
        ),
    ],
)
async def test_wrong_settings_change_nothing(
    run: Run, user: User, admin: User, changes: dict[str, object], details: dict[str, str]
) -> None:
    del admin
    with pytest.raises(Refusal) as refused:
        await run("update_user_settings", userId=str(user.id), settings=changes)

    assert refused.value.details == details
    assert (await run("get_user_settings", userId=str(user.id)))["username"] == "mara"


async def test_change_user_plan_keeps_the_reason(
    run: Run, runtime: Runtime, client: httpx2.AsyncClient, bearer: dict[str, str], user: User
) -> None:
    assert (await client.get("/api/v1/me", headers=bearer)).status_code == 200

    changed = await run("change_user_plan", userId=str(user.id), plan="FREE", reason="Refunded")

    assert (changed["outcome"], changed["user"]["plan"], changed["previousPlan"]) == ("done", "FREE", "PRO")
    assert await runtime.pool.fetchval("select plan from users where id = $1", user.id) == "FREE"
    [fact] = await events(runtime, "user.plan_changed")
    assert (fact["plan"], fact["previous"], fact["reason"]) == ("FREE", "PRO", "Refunded")
    assert (await client.get("/api/v1/me", headers=bearer)).status_code == 401


async def test_disable_user_closes_everything_and_cancels_what_is_to_come(
    run: Run,
    runtime: Runtime,
    client: httpx2.AsyncClient,
    bearer: dict[str, str],
    user: User,
    book: Book,
    clock: MovingClock,
    password_hash: str,
) -> None:
    booking_id = (await book()).json()["bookingId"]
    async with runtime.transaction(OPERATOR) as work:
        await access.let_in(work, user, password_hash=password_hash, user_agent="test")
    await work_off(runtime, clock)

    answer = await run("disable_user", userId=str(user.id), reason="Spam")
    await work_off(runtime, clock)

    assert (answer["outcome"], answer["cancelledBookings"], answer["user"]["status"]) == ("done", 1, "disabled")
    assert (await client.get("/api/v1/me", headers=bearer)).status_code == 401
    assert (await client.get("/api/public/mara")).status_code == 404
    assert await runtime.pool.fetchval("select count(*) from sessions where user_id = $1", user.id) == 0
    booking = await run("get_booking", bookingId=booking_id)
    assert (booking["status"], booking["cancelledBy"]) == ("CANCELLED", "agent")
    assert ("cancellation", "jonas@okafor.example") in [(each["kind"], each["to"]) for each in booking["emailLogs"]]
    assert [fact["reason"] for fact in await events(runtime, "user.disabled")] == ["Spam"]
    assert len(await events(runtime, "booking.cancelled")) == 1
    assert (await run("disable_user", userId=str(user.id), reason="Again"))["cancelledBookings"] == 0
    assert len(await events(runtime, "user.disabled")) == 1


async def test_the_last_administrator_is_never_disabled(run: Run, runtime: Runtime, admin: User, user: User) -> None:
    with pytest.raises(Refusal, match="only administrator"):
        await run("disable_user", userId=str(admin.id), reason="Spam")
    assert (await run("get_user", userId=str(admin.id)))["status"] == "active"

    async with runtime.transaction(OPERATOR) as work:
        await accounts.set_admin(work, user, is_admin=True)

    assert (await run("disable_user", userId=str(admin.id), reason="Spam"))["user"]["status"] == "disabled"


@pytest.mark.parametrize(
    ("name", "arguments", "details"),
    [
        ("get_user", {}, {"userId": "is required without email"}),
        ("get_user", {"userId": NOBODY, "email": "a@b.example"}, {"email": "must not be combined with userId"}),
        ("get_user", {"userId": NOBODY}, {"userId": "does not exist"}),
        ("get_user", {"email": "nobody@example.org"}, {"email": "does not exist"}),
        ("get_user", {"email": "nobody"}, {"email": "is not a valid email address"}),
        ("get_user_activity", {"userId": NOBODY}, {"userId": "does not exist"}),
        ("get_user_settings", {"userId": NOBODY}, {"userId": "does not exist"}),
        ("update_user_settings", {"userId": NOBODY, "settings": {"name": "X"}}, {"userId": "does not exist"}),
        ("change_user_plan", {"userId": NOBODY, "plan": "PRO", "reason": "x"}, {"userId": "does not exist"}),
        ("disable_user", {"userId": NOBODY, "reason": "x"}, {"userId": "does not exist"}),
        (
            "change_user_plan",
            {"userId": "7", "plan": "GOLD", "reason": ""},
            {
                "userId": "must be a UUID",
                "plan": "must be one of FREE, PRO, BUSINESS",
                "reason": "must not be empty",
            },
        ),
        ("list_users", {"limit": 101, "page": 0}, {"limit": "must be at most 100", "page": "must be at least 1"}),
        ("list_users", {"status": "open"}, {"status": "must be one of active, disabled"}),
    ],
)
async def test_wrong_users_and_arguments_are_named(
    run: Run, name: str, arguments: dict[str, object], details: dict[str, str]
) -> None:
    with pytest.raises(Refusal) as refused:
        await run(name, **arguments)

    assert refused.value.details == details


async def test_disabled_and_admins_can_be_told_apart(run: Run, admin: User) -> None:
    shown = await run("get_user", userId=str(admin.id))

    assert (shown["isAdmin"], shown["plan"]) == (True, Plan.BUSINESS)
