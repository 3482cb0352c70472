"""Several at the door at once: each gets what it would get alone."""

import asyncio
from collections import Counter

import pytest

from openslot.domains.access import operations as access
from openslot.domains.access.door import enter, failures_of
from openslot.domains.access.entries import store as entry_store
from openslot.domains.access.entries.store import CredentialLookup, look_up
from openslot.domains.access.errors import LimitReached, TooManyFailures
from openslot.domains.access.limits import operations as limits
from openslot.domains.access.models import CredentialKind
from openslot.domains.accounts.models import User
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Refusal, Unauthorized
from openslot.platform.core.ids import fingerprint
from openslot.platform.core.work import Runtime

HERE, THERE = "192.0.2.1", "192.0.2.2"
WRONG = "svc_live_" + "0" * 32 + "ZZZZZZ"


async def lookup(runtime: Runtime, key: str, address: str = HERE) -> str:
    """Tell how someone fared at the door."""
    try:
        entry = await enter(runtime, CredentialKind.API_KEY, authorization=f"Bearer {key}", address=address)
    except Refusal as refusal:
        return type(refusal).__name__
    assert entry.limit is not None
    return f"in, {entry.limit.left} left"


async def second_key(runtime: Runtime, user: User) -> str:
    """Make another key of the same user."""
    async with runtime.transaction(OPERATOR) as work:
        key, _ = await access.create_api_key(work, user, name="second")
    return key


async def test_each_key_is_charged_for_its_own(runtime: Runtime, user: User, api_key: str) -> None:
    other = await second_key(runtime, user)
    fared = await asyncio.gather(*(lookup(runtime, key) for key in (api_key, other, api_key, api_key, other)))
    assert fared == ["in, 59 left", "in, 59 left", "in, 58 left", "in, 57 left", "in, 58 left"]


async def test_right_and_wrong_keys_do_not_mix(runtime: Runtime, api_key: str) -> None:
    unknown = await second_key_revoked(runtime, api_key)
    fared = await asyncio.gather(*(lookup(runtime, key) for key in (api_key, unknown, api_key, WRONG)))
    assert fared == ["in, 59 left", Unauthorized.__name__, "in, 58 left", Unauthorized.__name__]


async def second_key_revoked(runtime: Runtime, api_key: str) -> str:
    """Make a key that was good once."""
    owner = (await enter(runtime, CredentialKind.API_KEY, authorization=f"Bearer {api_key}", address=THERE)).user
    assert owner is not None
    await runtime.pool.execute("delete from rate_log")
    key = await second_key(runtime, owner)
    await runtime.pool.execute("update api_keys set revoked_at = now() where hash = $1", fingerprint(key))
    return key


async def test_one_key_from_a_blocked_and_an_open_address(runtime: Runtime, api_key: str) -> None:
    for _ in range(5):
        await limits.take_from_bucket(runtime.pool, failures_of(HERE), 5)
    fared = await asyncio.gather(*(lookup(runtime, api_key, address) for address in (HERE, THERE, HERE, THERE)))
    assert fared == [TooManyFailures.__name__, "in, 59 left", TooManyFailures.__name__, "in, 58 left"]
    assert await runtime.pool.fetchval("select cardinality(stamps) from rate_log where bucket like 'key:%'") == 2


async def test_more_than_the_limit_in_one_lot_on_a_fresh_log(runtime: Runtime, api_key: str) -> None:
    fared = await asyncio.gather(*(lookup(runtime, api_key) for _ in range(90)))
    assert fared == [f"in, {left} left" for left in range(59, -1, -1)] + [LimitReached.__name__] * 30


async def test_more_than_is_left_in_one_lot(runtime: Runtime, api_key: str) -> None:
    await asyncio.gather(*(lookup(runtime, api_key) for _ in range(50)))
    fared = Counter(await asyncio.gather(*(lookup(runtime, api_key) for _ in range(20))))
    assert fared == {**{f"in, {left} left": 1 for left in range(10)}, LimitReached.__name__: 10}


async def test_lots_that_share_keys_never_wait_for_each_other_in_a_circle(runtime: Runtime, user: User) -> None:
    keys = [await second_key(runtime, user) for _ in range(12)]
    lookups = [CredentialLookup(fingerprint(key), failures_of(HERE)) for key in keys]

    async def enter_all(batch: list[CredentialLookup]) -> None:
        await look_up(runtime.pool, CredentialKind.API_KEY, batch, failed_limit=5, limit=1000, now=runtime.clock())

    await asyncio.gather(*(enter_all(lookups if n % 2 else lookups[::-1]) for n in range(100)))
    stamps = await runtime.pool.fetch("select cardinality(stamps) as used from rate_log where bucket like 'key:%'")
    assert [row["used"] for row in stamps] == [100] * 12


async def test_a_broken_lot_is_everyones_fault_and_the_next_is_served(
    runtime: Runtime, api_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setitem(
            entry_store.STATEMENTS,
            CredentialKind.API_KEY,
            "select nothing from nowhere where $1 = $2 and $3 = $4 and $5 = $6",
        )
        failed = await asyncio.gather(*(lookup(runtime, api_key) for _ in range(3)), return_exceptions=True)
    assert all(isinstance(each, Exception) for each in failed)
    assert await lookup(runtime, api_key) == "in, 59 left"
