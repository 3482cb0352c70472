"""Sealing: nothing is ever sealed with a key that is about to go, and nothing is left that only an old key opens."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import UUID

import asyncpg
import msgspec
import pytest

from openslot.accounts import operations as accounts
from openslot.accounts.models import User
from openslot.core import sealing
from openslot.core.actor import OPERATOR
from openslot.core.config import Settings
from openslot.core.errors import StartupError
from openslot.core.ids import new_id
from openslot.core.sealing import OldSecretKey, SealedColumn, count_sealed, reseal_all, seal
from openslot.core.secrets import KEY_FILE, Secrets, changing_keys, load_secrets, rotate_key_file
from openslot.core.work import Runtime, Work
from openslot.demo.seed import seed
from openslot.runtime import open_runtime
from openslot.webhooks import operations as webhooks
from openslot.webhooks.models import EndpointRef, EndpointWanted
from openslot.wiring import SEALED

OLD, NEW = "o" * 40, "n" * 40
PLAIN = {
    "calendar_channels.token_hash": "a fingerprint",
    "calendar_feeds.token_hash": "a hash",
    "email_codes.hash": "a signature",
    "address_changes.hash": "a fingerprint",
    "address_changes.password_digest": "a digest of a hash",
    "agent_calls.signature": "a signature",
    "agent_chain.last": "a signature",
    "agent_chain.signature": "a signature",
    "agent_images.body": "a picture that agents give to others",
    "agent_keys.hash": "a fingerprint",
    "api_keys.hash": "a fingerprint",
    "assistant_codes.hash": "a fingerprint",
    "assistant_grants.hash": "a fingerprint",
    "assistant_refresh_tokens.hash": "a fingerprint",
    "data_keys.sealed_by": "names a key",
    "booking_links.token_hash": "a fingerprint",
    "event_types.private_hash": "a fingerprint",
    "finished_oidc_sign_ins.hash": "a fingerprint",
    "former_usernames.name_hash": "a fingerprint",
    "idempotency.request_hash": "a fingerprint",
    "oauth_attempts.state_hash": "a fingerprint",
    "idempotency.scope": "a fingerprint",
    "invitations.hash": "a fingerprint",
    "password_resets.hash": "a fingerprint",
    "password_resets.password_digest": "a digest of a hash",
    "pending_sign_ins.hash": "a fingerprint",
    "pending_sign_ins.password_mark": "a fingerprint",
    "photos.body": "a picture for everyone",
    "brand_images.body": "a picture for everyone",
    "recovery_codes.hash": "a fingerprint",
    "scim_tokens.hash": "a fingerprint",
    "sent_invitations.recipient": "a fingerprint",
    "sessions.hash": "a fingerprint",
    "setup_links.hash": "a fingerprint",
    "sign_ups.browser_hash": "a fingerprint",
    "sign_ups.hash": "a fingerprint",
    "wrong_passwords.subject": "a fingerprint",
}
# They outlive the secret key: what they seal needs none of it.
SEALED_BY_DATA_KEYS = {
    "agent_emails.content",
    "approvals.result",
    "assistant_approvals.arguments",
    "assistant_approvals.result",
    "data_export_pieces.sealed",
    "booking_links.token_sealed",
    "event_types.private_sealed",
    "idempotency.sealed",
    "mail_messages.content",
    "oauth_attempts.verifier",
    "webhook_deliveries.answer",
    "webhook_messages.sealed",
}
BYTES = """
select table_name || '.' || column_name as name from information_schema.columns
where table_schema = 'public' and data_type = 'bytea' order by 1"""


async def add_endpoint(work: Work, owner: User) -> tuple[UUID, str]:
    wanted = EndpointWanted(url="https://hooks.example.com/", events=(), description=None)
    endpoint, secret = await webhooks.add_endpoint(work, owner, wanted)
    return endpoint.id, secret


async def rotate_endpoint(work: Work, endpoint_id: UUID) -> str:
    _, secret = await webhooks.rotate_secret(work, EndpointRef(endpoint_id))
    return secret


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


async def test_sealing_outside_the_list_of_sealed_columns_is_noticed(runtime: Runtime) -> None:
    """Whoever adds a column of bytes says here or in the wiring which kind it is."""
    found = {row["name"] for row in await runtime.pool.fetch(BYTES)}
    sealed = {*(str(each) for each in SEALED), "data_keys.sealed"}

    assert found == sealed | SEALED_BY_DATA_KEYS | PLAIN.keys()
    assert len(found) == len(sealed) + len(SEALED_BY_DATA_KEYS) + len(PLAIN)


async def furnish_messaging(work: Work, host_id: UUID) -> None:
    token = await seal(work, "0123456789abcdef")
    connection_id, thread_id, message_id = new_id(), new_id(), new_id()
    await work.db.execute(
        """insert into messaging_connections
            (id, user_id, provider, channel, number, account, token, second_token, connected_at)
        values ($1, $2, 'twilio', 'sms', '+493022222222', 'AC1', $3, $3, $4)""",
        connection_id,
        host_id,
        token,
        work.now,
    )
    await work.db.execute(
        """insert into conversations (id, owner_id, contact_phone, channel, last_message_at, created_at, updated_at)
        values ($1, $2, '+493033333333', 'sms', $3, $3, $3)""",
        thread_id,
        host_id,
        work.now,
    )
    await work.db.execute(
        """insert into messages (id, conversation_id, content, direction, status, at, created_at)
        values ($1, $2, '', 'inbound', 'received', $3, $3)""",
        message_id,
        thread_id,
        work.now,
    )
    await work.db.execute(
        "insert into message_media (id, message_id, position, ref, content_type) values ($1, $2, 0, $3, 'image/png')",
        new_id(),
        message_id,
        await seal(work, "Messages/SM1/Media/ME1"),
    )
    await work.db.execute(
        """insert into calls (id, owner_id, direction, caller_phone, agent_name, started_at, recording, transcript,
            created_at, updated_at)
        values ($1, $2, 'inbound', '+493033333333', 'Reception', $3, $4, $4, $3, $3)""",
        new_id(),
        host_id,
        work.now,
        await seal(work, "Recordings/RE1"),
    )
    await work.db.execute(
        """insert into call_recordings (id, connection_id, call_id, ref, received_at)
        select $1, id, 'CA2', $2, $3 from messaging_connections limit 1""",
        new_id(),
        await seal(work, "Recordings/RE3"),
        work.now,
    )
    crm = "insert into crm_connections select $1, user_id, 'x', 'u', 'u', token, '{}', $2 from messaging_connections"
    await work.db.execute(crm, new_id(), work.now)
    for column, value in (("vendor_id", "SM1"), ("ref", await seal(work, "Recordings/RE2"))):
        await work.db.execute(
            f"""insert into message_erasures (id, behalf_of, provider, account, token, {column})
            values ($1, $2, 'twilio', 'AC1', $3, $4)""",
            new_id(),
            host_id,
            token,
            value,
        )


async def test_what_is_sealed_is_in_the_list(runtime: Runtime, settings: Settings) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await seed(work)
        host = await accounts.get_user_by_email(work, "mara@harbor.example")
        endpoint_id, _ = await add_endpoint(work, host)
        await rotate_endpoint(work, endpoint_id)
        await work.db.execute(
            """insert into calendar_connections (id, owner_id, kind, server, label, secret, next_sync_at, created_at)
            values ($1, $2, 'ics', 'a.example', 'A feed', $3, $4, $4)""",
            new_id(),
            host.id,
            await seal(work, "https://a.example/secret.ics"),
            work.now,
        )
        await work.db.execute(
            """insert into oauth_grants (id, owner_id, vendor, secret, scopes, state, expires_at, created_at)
            values ($1, $2, 'google', $3, '{}', 'ok', $4, $4)""",
            new_id(),
            host.id,
            await seal(work, "ya29.token"),
            work.now,
        )
        await work.db.execute(
            "insert into authenticators (id, user_id, secret, created_at) values ($1, $2, $3, $4)",
            new_id(),
            host.id,
            await seal(work, "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"),
            work.now,
        )
        await work.db.execute(
            """insert into payment_connections
                (id, user_id, mode, key, key_ending, notice_secret, read_until, connected_at)
            values ($1, $2, 'test', $3, '4242', $4, $5, $5)""",
            new_id(),
            host.id,
            await seal(work, "rk_test_0123456789"),
            await seal(work, "whsec_0123456789"),
            work.now,
        )
        await work.db.execute(
            "insert into payment_endings (id, behalf_of, key, ended_at) values ($1, $2, $3, $4)",
            new_id(),
            host.id,
            await seal(work, "rk_test_9876543210"),
            work.now,
        )
        await furnish_messaging(work, host.id)
    opens: Callable[[bytes], bool] = load_secrets(None, settings.data_dir).opens
    holding = set()
    for found in await runtime.pool.fetch(BYTES):
        name: str = found["name"]
        table, column = name.split(".")
        rows = await runtime.pool.fetch(f"select {column} as value from {table} where {column} is not null")
        if any(opens(row["value"]) for row in rows):
            holding.add(name)

    assert holding == {*(str(each) for each in SEALED), "data_keys.sealed"}


async def test_a_secret_that_was_sealed_opens_again(runtime: Runtime) -> None:
    async with runtime.transaction(OPERATOR) as work:
        sealed = await seal(work, "open sesame")

    assert runtime.secrets.open(sealed) == "open sesame"
