"""Every column that is sealed is in the list that a rotation of keys works off, and no other one is."""

from collections.abc import Callable
from uuid import UUID

from openslot.demo.seed import seed
from openslot.domains.accounts import operations as accounts
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.ids import new_id
from openslot.platform.core.sealing import seal
from openslot.platform.core.secrets import load_secrets
from openslot.platform.core.work import Runtime, Work
from openslot.wiring import SEALED
from tests.platform.core.sealed_endpoints import add_endpoint, rotate_endpoint

PLAIN = {
    "calendar_channels.token_hash": "a fingerprint",
    "calendar_feeds.token_hash": "a hash",
    "email_codes.asked_by": "a signature",
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
