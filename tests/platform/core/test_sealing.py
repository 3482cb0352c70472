"""Sealing: nothing is ever sealed with a key that is about to go, and nothing is left that only an old key opens."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import msgspec
import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core import sealing
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import StartupError
from openslot.platform.core.sealing import OldSecretKey, SealedColumn, count_sealed, reseal_all, seal
from openslot.platform.core.secrets import KEY_FILE, Secrets, changing_keys, rotate_key_file
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from openslot.wiring import SEALED
from tests.platform.core.sealed_endpoints import add_endpoint, rotate_endpoint

OLD, NEW = "o" * 40, "n" * 40


def retire_by(runtime: Runtime) -> "asyncio.Task[int]":
    return asyncio.create_task(reseal_all(runtime.pool, runtime.secrets, SEALED, advance=lambda _: None))


async def secrets_of(runtime: Runtime, key: str) -> list[str]:
    """Open every sealed value with one key alone."""
    alone = Secrets((key,))
    values = [
        row["sealed"]
        for each in (*SEALED, SealedColumn("data_keys", "sealed"))
        for row in await runtime.pool.fetch(
            f"select {each.column} as sealed from {each.table} where {each.column} is not null"
        )
    ]
    return [alone.open(value) for value in values]


@pytest.fixture
async def with_old(settings: Settings, runtime: Runtime) -> AsyncIterator[Runtime]:
    """A runtime whose key was set by the setting before a newer one came."""
    await runtime.pool.execute("delete from data_keys")
    async with open_runtime(msgspec.structs.replace(settings, secret_key=OLD)) as opened:
        yield opened


@pytest.fixture
async def with_both(settings: Settings, with_old: Runtime) -> AsyncIterator[Runtime]:
    """A runtime that was restarted with a newer key in front."""
    assert with_old.secrets.keys == (OLD,)
    async with open_runtime(msgspec.structs.replace(settings, secret_key=f"{NEW},{OLD}")) as opened:
        yield opened


async def test_everything_is_sealed_with_the_newest_key_and_still_says_the_same(
    with_old: Runtime, with_both: Runtime, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealing, "BITE", 2)
    async with with_old.transaction(OPERATOR) as work:
        made = [await add_endpoint(work, user) for _ in range(5)]
        newer = [await rotate_endpoint(work, endpoint_id) for endpoint_id, _ in made[:3]]
    async with with_both.transaction(OPERATOR) as work:
        _, latest = await add_endpoint(work, user)
    data_key = Secrets((OLD,)).open(await with_old.pool.fetchval("select sealed from data_keys"))
    seen: list[int] = []

    resealed = await reseal_all(with_both.pool, with_both.secrets, SEALED, advance=seen.append)

    assert resealed == 10
    assert sum(seen) == await count_sealed(with_both.pool, SEALED) == 9
    opened = await secrets_of(with_both, NEW)
    assert sorted(opened) == sorted([*newer, *(secret for _, secret in made), latest, data_key])
    assert await retire_by(with_both) == 0


async def test_whoever_is_sealing_is_waited_for(with_old: Runtime, with_both: Runtime, user: User) -> None:
    async with with_old.transaction(OPERATOR) as work:
        _, secret = await add_endpoint(work, user)
        retiring = retire_by(with_both)
        await asyncio.wait([retiring], timeout=0.3)
        assert not retiring.done()
    assert await retiring == 2
    assert secret in await secrets_of(with_both, NEW)


async def test_who_does_not_know_the_new_key_seals_nothing_more(
    with_old: Runtime, with_both: Runtime, user: User
) -> None:
    async with with_old.transaction(OPERATOR) as work:
        await add_endpoint(work, user)
    await retire_by(with_both)
    with pytest.raises(OldSecretKey):
        async with with_old.transaction(OPERATOR) as work:
            await add_endpoint(work, user)

    assert len(await secrets_of(with_both, NEW)) == 2


async def test_a_new_key_seals_from_the_moment_when_the_old_one_is_retired(
    with_old: Runtime, with_both: Runtime, user: User
) -> None:
    for opened in (with_both, with_old):
        async with opened.transaction(OPERATOR) as work:
            await add_endpoint(work, user)
    assert len(await secrets_of(with_old, OLD)) == 3
    await retire_by(with_both)
    async with with_both.transaction(OPERATOR) as work:
        await add_endpoint(work, user)

    assert len(await secrets_of(with_both, NEW)) == 4


async def test_the_order_of_the_keys_of_others_does_not_matter(
    settings: Settings, with_old: Runtime, with_both: Runtime, user: User
) -> None:
    assert with_old.secrets.keys == (OLD,)
    await retire_by(with_both)
    misordered = msgspec.structs.replace(settings, secret_key=f"{OLD},{NEW}")
    async with open_runtime(misordered) as opened, opened.transaction(OPERATOR) as work:
        await add_endpoint(work, user)

    assert len(await secrets_of(with_both, NEW)) == 2


async def test_who_reads_the_key_file_seals_with_the_new_key_without_a_restart(runtime: Runtime, user: User) -> None:
    path = runtime.settings.data_dir / KEY_FILE
    new, old = rotate_key_file(path)
    async with runtime.transaction(OPERATOR) as work:
        _, secret = await add_endpoint(work, user)
    assert list(runtime.secrets.keys) == [old]
    with changing_keys(path, lambda keys: keys[:1]):
        async with open_runtime(runtime.settings) as command:
            assert await retire_by(command) == 2
    async with runtime.transaction(OPERATOR) as work:
        _, later = await add_endpoint(work, user)

    assert list(runtime.secrets.keys) == [new]
    assert {secret, later} < set(await secrets_of(runtime, new))


async def test_a_value_that_was_replaced_meanwhile_stays_replaced(
    with_old: Runtime, with_both: Runtime, user: User, database_url: str
) -> None:
    async with with_old.transaction(OPERATOR) as work:
        await add_endpoint(work, user)
    other = await asyncpg.connect(database_url)
    async with other.transaction():
        await other.execute("update webhook_endpoints set secret = $1", with_both.secrets.seal("newer"))
        retiring = retire_by(with_both)
        await asyncio.wait([retiring], timeout=0.3)
        assert not retiring.done()
    await retiring
    await other.close()

    assert "newer" in await secrets_of(with_both, NEW)


async def test_a_value_that_moves_from_one_column_to_another_is_not_missed(
    with_old: Runtime, with_both: Runtime, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with with_old.transaction(OPERATOR) as work:
        await add_endpoint(work, user)
    values = {"secret": with_old.secrets.seal("old"), "previous_secret": with_both.secrets.seal("new")}
    await with_both.pool.execute("update webhook_endpoints set secret = $1, previous_secret = $2", *values.values())
    read, looks = sealing._bites, iter(range(2 * len(SEALED)))

    async def bites(db: Any, column: SealedColumn) -> AsyncIterator[list[Any]]:
        """Move the old value out of every column just before it is looked at, in the first round."""
        if next(looks, None) is not None and column.table == "webhook_endpoints":
            here = await with_both.pool.fetchval(f"select {column.column} from webhook_endpoints")
            if not with_both.secrets.newest().opens(here):
                swap = "update webhook_endpoints set secret = previous_secret, previous_secret = secret"
                await with_both.pool.execute(swap)
        async for rows in read(db, column):
            yield rows

    monkeypatch.setattr(sealing, "_bites", bites)
    await retire_by(with_both)

    assert next(looks, None) is None
    assert {"old", "new"} < set(await secrets_of(with_both, NEW))


async def test_a_value_that_no_key_opens_is_named_and_keeps_the_old_keys(
    with_both: Runtime, user: User, capsys: pytest.CaptureFixture[str]
) -> None:
    async with with_both.transaction(OPERATOR) as work:
        lost = [await add_endpoint(work, user) for _ in range(2)]
        _, kept = await add_endpoint(work, user)
        for endpoint_id, _ in lost:
            foreign = Secrets(("f" * 40,)).seal("gone")
            await work.db.execute("update webhook_endpoints set secret = $2 where id = $1", endpoint_id, foreign)

    with pytest.raises(StartupError, match=r"\(2 in webhook_endpoints.secret\).* No key was retired"):
        await reseal_all(with_both.pool, with_both.secrets, SEALED, advance=lambda _: None)
    assert kept not in capsys.readouterr().out


async def test_a_secret_that_was_sealed_opens_again(runtime: Runtime) -> None:
    async with runtime.transaction(OPERATOR) as work:
        sealed = await seal(work, "open sesame")

    assert runtime.secrets.open(sealed) == "open sesame"
