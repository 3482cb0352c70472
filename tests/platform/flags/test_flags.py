"""Flags: kept in the database, checked in memory, changed by events."""

import asyncio

import msgspec
import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.db import Row
from openslot.platform.core.errors import NotFound
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from openslot.platform.flags import operations as flags
from openslot.platform.flags.errors import FlagNotFound
from openslot.platform.flags.models import FlagKey
from openslot.platform.flags.operations import FlagCache
from openslot.runtime import open_runtime

HOLDS = FlagKey.BOOKING_HOLDS


class CountingPool:
    """A pool that counts what is asked of it."""

    def __init__(self, runtime: Runtime) -> None:
        self._pool = runtime.pool
        self.asked = 0

    async def fetchrow(self, query: str, *args: object) -> Row | None:
        self.asked += 1
        return await self._pool.fetchrow(query, *args)


async def toggle(runtime: Runtime, key: str, *, enabled: bool) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await flags.toggle_flag(work, key, enabled=enabled)


async def facts(runtime: Runtime) -> list[tuple[str, dict[str, object]]]:
    rows = await runtime.pool.fetch("select type, fact from events where type like 'flag.%' order by no")
    return [(row["type"], msgspec.json.decode(row["fact"])) for row in rows]


async def test_every_flag_that_the_product_checks_is_in_the_database_and_no_other(runtime: Runtime) -> None:
    rows = await runtime.pool.fetch("select key, enabled, description from flags order by key")

    assert [row["key"] for row in rows] == sorted(FlagKey)
    assert all(row["enabled"] and row["description"] for row in rows)


async def test_a_flag_is_switched_once_and_told_once(runtime: Runtime) -> None:
    for enabled in (False, False, True):
        await toggle(runtime, HOLDS, enabled=enabled)

    assert await facts(runtime) == [
        ("flag.toggled", {"key": "booking_holds", "enabled": False}),
        ("flag.toggled", {"key": "booking_holds", "enabled": True}),
    ]


async def test_an_override_counts_for_its_user_alone_until_it_is_removed(
    runtime: Runtime, user: User, admin: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        for _ in range(2):
            await flags.set_override(work, HOLDS, user.id, enabled=False)
        own = await flags.get_for_user(work, HOLDS, user.id)
        other = await flags.get_for_user(work, HOLDS, admin.id)
        assert (own.enabled, own.is_override, other.enabled, other.is_override) == (False, True, True, False)
        for _ in range(2):
            removed = await flags.remove_override(work, HOLDS, user.id)

    assert (removed.enabled, removed.is_override) == (True, False)
    fact = {"key": "booking_holds", "user_id": str(user.id)}
    assert await facts(runtime) == [
        ("flag.override_set", fact | {"enabled": False}),
        ("flag.override_removed", fact | {"enabled": True}),
    ]


async def test_what_does_not_exist_is_refused(runtime: Runtime, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        with pytest.raises(FlagNotFound):
            await flags.toggle_flag(work, "no_such_flag", enabled=True)
        with pytest.raises(FlagNotFound):
            await flags.set_override(work, "no_such_flag", user.id, enabled=True)
        with pytest.raises(NotFound, match="User not found"):
            await flags.set_override(work, HOLDS, new_id(), enabled=False)

    assert await facts(runtime) == []


@pytest.mark.rest("waits for seconds")
async def test_a_change_is_seen_by_another_process(runtime: Runtime, settings: Settings) -> None:
    async with open_runtime(settings) as other:
        assert await flags.is_enabled(other.work(OPERATOR), HOLDS)
        await toggle(runtime, HOLDS, enabled=False)

        async with asyncio.timeout(30):
            while await flags.is_enabled(other.work(OPERATOR), HOLDS):
                await asyncio.sleep(0.05)


async def test_checking_a_flag_again_asks_the_database_nothing(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openslot.platform.flags.operations.monotonic", lambda: 1000.0)
    pool = CountingPool(runtime)
    cache = FlagCache()

    answers = [await cache.is_enabled(pool, HOLDS, user_id=None) for _ in range(50)]  # type: ignore[arg-type]

    assert (set(answers), pool.asked) == ({True}, 1)


async def test_flags_that_have_not_changed_are_not_read_again(runtime: Runtime, user: User) -> None:
    cache = FlagCache()
    await cache.is_enabled(runtime.pool, HOLDS, user_id=None)
    known = cache._values
    cache._read_at -= 60
    await cache.is_enabled(runtime.pool, HOLDS, user_id=None)
    assert cache._values is known

    async with runtime.transaction(OPERATOR) as work:
        await flags.set_override(work, HOLDS, user.id, enabled=False)
    cache._read_at -= 60

    assert await cache.is_enabled(runtime.pool, HOLDS, user_id=None)
    assert not await cache.is_enabled(runtime.pool, HOLDS, user_id=user.id)
    assert cache._values is not known


async def test_what_was_rolled_back_does_not_stay_in_memory(runtime: Runtime) -> None:
    cache = FlagCache()
    with pytest.raises(ZeroDivisionError):
        async with runtime.transaction(OPERATOR) as work:
            await flags.toggle_flag(work, HOLDS, enabled=False)
            assert not await cache.is_enabled(work.db, HOLDS, user_id=None)
            raise ZeroDivisionError
    cache._read_at -= 60

    assert await cache.is_enabled(runtime.pool, HOLDS, user_id=None)


async def test_the_last_known_flags_stay_while_the_database_is_down(runtime: Runtime) -> None:
    class Down:
        async def fetchrow(self, query: str, *args: object) -> Row | None:
            raise ConnectionRefusedError

    await toggle(runtime, HOLDS, enabled=False)
    cache = FlagCache()
    with pytest.raises(ConnectionRefusedError):
        await cache.is_enabled(Down(), HOLDS, user_id=None)  # type: ignore[arg-type]
    await cache.is_enabled(runtime.pool, HOLDS, user_id=None)
    cache._read_at -= 60

    assert not await cache.is_enabled(Down(), HOLDS, user_id=None)  # type: ignore[arg-type]


async def test_a_check_is_for_one_user_or_for_everyone(runtime: Runtime, user: User) -> None:
    cache = FlagCache()

    async def ask() -> tuple[bool, ...]:
        cache._read_at -= 60
        return tuple([await cache.is_enabled(runtime.pool, HOLDS, user_id=who) for who in (None, new_id(), user.id)])

    async with runtime.transaction(OPERATOR) as work:
        await flags.set_override(work, HOLDS, user.id, enabled=False)
    assert await ask() == (True, True, False)

    await toggle(runtime, HOLDS, enabled=False)
    async with runtime.transaction(OPERATOR) as work:
        await flags.set_override(work, HOLDS, user.id, enabled=True)
    assert await ask() == (False, False, True)


async def test_a_flag_that_has_no_row_is_on(runtime: Runtime, user: User) -> None:
    cache = FlagCache()

    for who in (None, user.id):
        assert await cache.is_enabled(runtime.pool, "no_such_flag", user_id=who)  # type: ignore[arg-type]
