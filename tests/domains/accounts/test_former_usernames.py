"""A former username stays its owner's for 180 days: nobody else gets it in any way, and taking it back always works."""

import asyncio
from collections.abc import Awaitable
from datetime import timedelta

import asyncpg
import pytest

from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts import store
from openslot.domains.accounts.errors import (
    AdministratorProtected,
    ReservedUsernameNotFound,
    UsernameAlreadyExists,
    UsernameLimitExceeded,
)
from openslot.domains.accounts.models import User, UserSettings, UserWanted
from openslot.domains.accounts.profiles import operations as profiles
from openslot.domains.event_types.operations import get_page_of_host
from openslot.platform.core.actor import OPERATOR, Actor, ActorKind
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.contacts.conftest import stranger
from tests.support.clocks import MovingClock, clock

__all__ = ["clock", "stranger"]

SUPPORT = Actor(kind=ActorKind.AGENT, agent="support")
WAITING = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"


async def rename(runtime: Runtime, user: User, username: str, *, actor: Actor = OPERATOR) -> User:
    async with runtime.transaction(actor) as work:
        current = await accounts.get_user(work, user.id)
        return await accounts.change_user_settings(work, current, UserSettings(username=username))


async def add(runtime: Runtime, email: str, username: str | None = None, *, name: str = "Mara") -> User:
    async with runtime.transaction(OPERATOR) as work:
        return await accounts.add_user(work, UserWanted(email=email, name=name, username=username))


async def names_of(runtime: Runtime, user: User) -> list[str]:
    return [each.name for each in await profiles.list_former_usernames(runtime.work(OPERATOR), user)]


async def leads_to(runtime: Runtime, username: str) -> str | None:
    return await profiles.find_current_username(runtime.work(OPERATOR), username)


async def until_waiting(runtime: Runtime, count: int = 1) -> None:
    async with asyncio.timeout(60):
        while await runtime.pool.fetchval(WAITING) < count:
            await asyncio.sleep(0.01)


async def outcome(attempt: Awaitable[User]) -> str:
    """Return the username that an attempt got, or the name of its refusal."""
    try:
        return (await attempt).username
    except (UsernameAlreadyExists, AdministratorProtected, UsernameLimitExceeded) as refusal:
        return type(refusal).__name__


async def test_nobody_else_gets_a_former_name_by_renaming_or_by_a_new_account(
    runtime: Runtime, user: User, stranger: User
) -> None:
    await rename(runtime, user, "mara-l")

    for name in ("mara", "MARA", " Mara "):
        with pytest.raises(UsernameAlreadyExists):
            await rename(runtime, stranger, name)
        with pytest.raises(UsernameAlreadyExists):
            await add(runtime, "new@x.example", name)
    # A username that is derived from the name, as for sign-ups, invitations and directories.
    assert [(await add(runtime, f"p{n}@x.example")).username for n in range(2)] == ["mara-2", "mara-3"]
    assert (await accounts.get_user(runtime.work(OPERATOR), stranger.id)).username == "bo"


async def test_what_writes_the_table_itself_is_refused_too(runtime: Runtime, user: User, stranger: User) -> None:
    await rename(runtime, user, "mara-l")
    insert = """insert into users (id, email, name, username, created_at, updated_at)
    values ($1, 'x@x.example', 'X', 'Mara', $2, $2)"""
    with pytest.raises(asyncpg.UniqueViolationError, match="the username is reserved"):
        await runtime.pool.execute(insert, new_id(), runtime.clock())
    with pytest.raises(asyncpg.UniqueViolationError, match="the username is reserved"):
        await runtime.pool.execute("update users set username = 'mara' where id = $1", stranger.id)


@pytest.mark.parametrize(
    ("names", "reserved"),
    [
        (["b", "mara"], ["b"]),
        (["b", "mara", "b"], ["mara"]),
        (["b", "mara", "b", "mara", "b", "mara"], ["b"]),
        (["b", "c", "mara"], ["c", "b"]),
        (["b", "c", "b", "c", "mara", "c"], ["mara", "b"]),
    ],
)
async def test_taking_a_name_back_always_works(
    runtime: Runtime, clock: MovingClock, user: User, names: list[str], reserved: list[str]
) -> None:
    for name in names:
        clock.pass_time(days=1)
        assert (await rename(runtime, user, name)).username == name

    assert await names_of(runtime, user) == reserved
    assert [await leads_to(runtime, name) for name in reserved] == [names[-1]] * len(reserved)
    assert await leads_to(runtime, names[-1]) is None


async def test_a_name_is_free_180_days_after_it_was_left(
    runtime: Runtime, clock: MovingClock, user: User, stranger: User
) -> None:
    await rename(runtime, user, "mara-l")
    clock.now += timedelta(days=180) - timedelta(seconds=1)
    with pytest.raises(UsernameAlreadyExists):
        await rename(runtime, stranger, "mara")
    assert await leads_to(runtime, "mara") == "mara-l"
    clock.pass_time(seconds=1)

    assert await leads_to(runtime, "mara") is None
    assert await names_of(runtime, user) == []
    await rename(runtime, stranger, "mara")
    with pytest.raises(UsernameAlreadyExists):
        await rename(runtime, user, "mara")
    # The row of the first owner had not been removed yet.
    await rename(runtime, stranger, "bo")
    assert await names_of(runtime, stranger) == ["mara"]


async def test_the_daily_job_removes_what_is_no_longer_reserved(
    runtime: Runtime, clock: MovingClock, user: User
) -> None:
    await rename(runtime, user, "b")
    clock.pass_time(days=1)
    await rename(runtime, user, "c")
    clock.pass_time(days=179)

    assert await profiles.forget_expired(runtime.work(OPERATOR)) == "1 former usernames are free"
    assert await runtime.pool.fetchval("select array_agg(name) from former_usernames") == ["b"]


async def test_a_name_that_no_longer_leads_stays_reserved(runtime: Runtime, user: User, stranger: User) -> None:
    await rename(runtime, user, "mara-l")
    async with runtime.transaction(OPERATOR) as work:
        await profiles.set_username_leads(work, user, "mara", leads=False)
        with pytest.raises(ReservedUsernameNotFound):
            await profiles.set_username_leads(work, stranger, "mara", leads=True)

    assert await leads_to(runtime, "mara") is None
    with pytest.raises(UsernameAlreadyExists):
        await rename(runtime, stranger, "mara")
    await rename(runtime, user, "mara")
    await rename(runtime, user, "mara-l")
    assert await leads_to(runtime, "mara") == "mara-l"


async def test_the_name_of_an_account_that_was_never_used_is_free_at_once(runtime: Runtime) -> None:
    invited = await add(runtime, "typo@x.example", name="Anna Ek")
    async with runtime.transaction(OPERATOR) as work:
        assert await store.delete_unused_account(work.db, invited.id, opened_at=invited.created_at)

    assert (await add(runtime, "anna@x.example", name="Anna Ek")).username == "anna-ek"


async def test_links_of_a_closed_account_lead_nowhere(runtime: Runtime, user: User) -> None:
    renamed = await rename(runtime, user, "mara-l")
    async with runtime.transaction(OPERATOR) as work:
        await accounts.set_user_disabled(work, renamed, reason=None)

    assert await leads_to(runtime, "mara") is None


async def test_no_more_than_ten_names_are_reserved_for_one_user(runtime: Runtime, user: User) -> None:
    for number in range(10):
        await rename(runtime, user, f"name-{number}")
    with pytest.raises(UsernameLimitExceeded):
        await rename(runtime, user, "one-more")
    assert len(await names_of(runtime, user)) == 10

    # Those that are reserved can still be taken back.
    await rename(runtime, user, "mara")
    assert (await rename(runtime, user, "name-3")).username == "name-3"


async def test_changes_at_once_do_not_reserve_more_names_than_allowed(runtime: Runtime, user: User) -> None:
    for number in range(9):
        await rename(runtime, user, f"name-{number}")
    results = await asyncio.gather(*(outcome(rename(runtime, user, f"last-{number}")) for number in range(4)))

    assert sorted(results)[:3] == ["UsernameLimitExceeded"] * 3
    assert len(await names_of(runtime, user)) == 10


async def test_an_agent_cant_rename_an_administrator(runtime: Runtime, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        admin = await accounts.set_admin(work, user, is_admin=True)
    with pytest.raises(AdministratorProtected):
        await rename(runtime, admin, "stolen", actor=SUPPORT)
    async with runtime.transaction(SUPPORT) as work:
        changed = await accounts.change_user_settings(work, admin, UserSettings(username="mara", name="Mara L."))

    assert (changed.username, changed.name) == ("mara", "Mara L.")
    assert await names_of(runtime, user) == []
    assert (await rename(runtime, admin, "mara-l")).username == "mara-l"


async def test_an_agent_cant_rename_somebody_who_becomes_an_administrator_meanwhile(
    runtime: Runtime, user: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await accounts.set_admin(work, user, is_admin=True)
        attempt = asyncio.create_task(outcome(rename(runtime, user, "stolen", actor=SUPPORT)))
        await until_waiting(runtime)

    assert await attempt == "AdministratorProtected"


async def test_of_a_rename_and_another_to_the_old_name_the_second_is_refused(
    runtime: Runtime, user: User, stranger: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await accounts.change_user_settings(work, user, UserSettings(username="mara-l"))
        attempt = asyncio.create_task(outcome(rename(runtime, stranger, "mara")))
        await until_waiting(runtime)

    assert await attempt == "UsernameAlreadyExists"
    assert (await rename(runtime, user, "mara")).username == "mara"


@pytest.mark.parametrize(("username", "result"), [("mara", "UsernameAlreadyExists"), (None, "mara-2")])
async def test_a_new_account_during_a_rename_does_not_get_the_old_name(
    runtime: Runtime, user: User, username: str | None, result: str
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await accounts.change_user_settings(work, user, UserSettings(username="other"))
        attempt = asyncio.create_task(outcome(add(runtime, "new@x.example", username)))
        await until_waiting(runtime)

    assert await attempt == result


@pytest.mark.parametrize(("username", "result"), [("mara", "UsernameAlreadyExists"), (None, "mara-2")])
async def test_a_new_account_during_a_deletion_does_not_get_the_name(
    runtime: Runtime, user: User, username: str | None, result: str
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await work.db.execute("delete from users where id = $1", user.id)
        attempt = asyncio.create_task(outcome(add(runtime, "new@x.example", username)))
        await until_waiting(runtime)

    assert await attempt == result


async def test_the_owner_takes_a_name_back_while_others_try_to_take_it(
    runtime: Runtime, user: User, stranger: User
) -> None:
    await rename(runtime, user, "mara-l")
    async with runtime.transaction(OPERATOR) as work:
        current = await accounts.get_user(work, user.id)
        await accounts.change_user_settings(work, current, UserSettings(username="mara"))
        attempts = [
            asyncio.create_task(outcome(rename(runtime, stranger, "mara"))),
            asyncio.create_task(outcome(add(runtime, "new@x.example", "mara"))),
        ]
        await until_waiting(runtime, 2)

    assert await asyncio.gather(*attempts) == ["UsernameAlreadyExists"] * 2
    page = await get_page_of_host(runtime.work(OPERATOR), "mara")
    assert page.host_id == user.id


async def test_many_takers_at_once_never_keep_the_owner_from_the_name(
    runtime: Runtime, user: User, stranger: User
) -> None:
    for number in range(5):
        await rename(runtime, user, "mara-l")
        results = await asyncio.gather(
            outcome(rename(runtime, stranger, "mara")),
            outcome(add(runtime, f"a{number}@x.example", "mara")),
            outcome(rename(runtime, user, "mara")),
            outcome(rename(runtime, stranger, "mara")),
            outcome(add(runtime, f"b{number}@x.example", "mara")),
        )

        assert list(results) == [
            "UsernameAlreadyExists",
            "UsernameAlreadyExists",
            "mara",
            "UsernameAlreadyExists",
            "UsernameAlreadyExists",
        ]


async def test_of_many_who_take_a_name_that_is_free_again_one_gets_it(
    runtime: Runtime, clock: MovingClock, user: User, stranger: User
) -> None:
    await rename(runtime, user, "mara-l")
    clock.pass_time(days=180)
    results = await asyncio.gather(
        outcome(rename(runtime, user, "mara")),
        outcome(rename(runtime, stranger, "mara")),
        *(outcome(add(runtime, f"p{number}@x.example", "mara")) for number in range(3)),
    )

    assert sorted(results) == [*["UsernameAlreadyExists"] * 4, "mara"]
