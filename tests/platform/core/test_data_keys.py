"""Data keys: random, sealed by the secret key, and the same for all who start."""

import asyncio
import base64
import hmac
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import pytest

from openslot.domains.bookings.links import PURPOSE, manage_token, read_manage_token
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import StartupError
from openslot.platform.core.ids import SIGNATURE_BYTES, derive, new_id
from openslot.platform.core.sealing import is_sealed, replace_lost_data_keys
from openslot.platform.core.secrets import KEY_FILE, SealBroken, Secrets, load_secrets, read_key_file, rotate_key_file
from openslot.platform.core.work import Runtime, system_clock
from openslot.runtime import open_runtime

OLD, NEW = "o" * 40, "n" * 40
BOOKING = new_id()


def sign_with(key: str) -> bytes:
    """Sign a manage link with a key."""
    return hmac.digest(derive(key, f"sign {PURPOSE}"), BOOKING.bytes, "sha256")


async def test_a_new_installation_signs_with_a_key_of_its_own(runtime: Runtime, settings: Settings) -> None:
    (key,) = read_key_file(settings.data_dir / KEY_FILE)
    (sealed,) = [row["sealed"] for row in await runtime.pool.fetch("select sealed from data_keys")]
    data_key = Secrets((key,)).open(sealed)

    assert data_key != key
    assert len(data_key) >= 60
    assert runtime.signer.sign(PURPOSE, BOOKING.bytes) == sign_with(data_key)
    assert not runtime.signer.is_signed(PURPOSE, BOOKING.bytes, sign_with(key))


@pytest.mark.own_database
async def test_a_second_machine_finds_the_keys_in_whatever_schema_the_migrations_have_made(
    runtime: Runtime, tmp_path: Path
) -> None:
    async with runtime.pool.acquire() as db:
        await db.execute("alter schema public rename to elsewhere; create schema public")
        assert not await is_sealed(db)
        await db.execute("set search_path = elsewhere")
        assert await is_sealed(db)
        with pytest.raises(StartupError, match="The secret key is missing"):
            load_secrets(None, tmp_path / "second", is_first=not await is_sealed(db))
        await db.execute("drop schema public; alter schema elsewhere rename to public")


async def test_all_who_start_at_once_on_an_empty_database_have_the_same_key(settings: Settings) -> None:
    read_key_file(settings.data_dir / KEY_FILE)
    async with AsyncExitStack() as stack:
        opened = await asyncio.gather(*(stack.enter_async_context(open_runtime(settings)) for _ in range(10)))
        tokens = {manage_token(runtime, BOOKING) for runtime in opened}
        count = await opened[0].pool.fetchval("select count(*) from data_keys")

    assert (len(tokens), count) == (1, 1)


async def test_links_outlive_the_key_that_sealed_when_they_were_sent(settings: Settings) -> None:
    async with open_runtime(settings) as runtime:
        token = manage_token(runtime, BOOKING)
        sealed = await runtime.pool.fetchval("select sealed from data_keys")
    data_key = Secrets(tuple(rotate_key_file(settings.data_dir / KEY_FILE))).open(sealed)
    async with open_runtime(settings) as runtime:
        assert read_manage_token(runtime, token) == BOOKING
        assert manage_token(runtime, BOOKING) == token
    assert base64.urlsafe_b64decode(f"{token}=") == BOOKING.bytes + sign_with(data_key)[:SIGNATURE_BYTES]


async def test_a_key_that_does_not_fit_stops_the_start_with_one_sentence(runtime: Runtime, settings: Settings) -> None:
    with pytest.raises(StartupError, match="The secret key does not match this database: copy"):
        async with open_runtime(msgspec.structs.replace(settings, secret_key=OLD)):
            pass
    async with open_runtime(msgspec.structs.replace(settings, secret_key=f"{OLD},{runtime.secrets.keys[0]}")) as other:
        assert manage_token(other, BOOKING) == manage_token(runtime, BOOKING)


async def test_a_start_between_rotation_and_retirement_of_a_key_finds_the_new_one(
    runtime: Runtime, settings: Settings, tmp_path: Path
) -> None:
    starting = load_secrets(None, settings.data_dir)
    (new, _) = rotate_key_file(tmp_path / KEY_FILE)
    sealed = Secrets((new,)).seal("data key " * 5)
    await runtime.pool.execute("update data_keys set sealed = $1", sealed)

    assert starting.keys != (new,)
    assert starting.open(await runtime.pool.fetchval("select sealed from data_keys")) == "data key " * 5


async def test_after_a_lost_key_a_new_data_key_is_made_and_a_good_one_is_never_given_up(runtime: Runtime) -> None:
    before = await runtime.pool.fetchval("select sealed from data_keys")
    kept = await replace_lost_data_keys(runtime.pool, runtime.secrets, now=system_clock())
    same = await runtime.pool.fetchval("select sealed from data_keys")
    replaced = await replace_lost_data_keys(runtime.pool, Secrets((OLD,)), now=system_clock())
    after = await runtime.pool.fetchval("select sealed from data_keys")

    assert (kept, before == same, replaced) == (False, True, True)
    assert len(Secrets((OLD,)).open(after)) >= 60
    with pytest.raises(SealBroken):
        runtime.secrets.open(after)
