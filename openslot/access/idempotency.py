"""Safe retries: the first answer to an Idempotency-Key is kept for a day and given again."""

import hashlib
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from openslot.access.errors import KeyReused, StillRunning
from openslot.core.db import Db, count_of
from openslot.core.errors import Invalid
from openslot.core.text import is_line

KEPT_FOR = timedelta(hours=24)


class RetriedRequest(Struct, frozen=True, kw_only=True):
    """What makes two requests the same: who asks, for what, under which key, with which body."""

    scope: bytes
    key: str
    body_hash: bytes


class StoredResponse(Struct, frozen=True, kw_only=True):
    """An answer as it was sent."""

    status: int
    headers: dict[str, str]
    body: bytes


def read_request(*, caller: str, method: str, path: str, key: str, body: bytes) -> RetriedRequest:
    """Identify a request, or refuse a key that is none."""
    if not 1 <= len(key) <= 255 or not is_line(key):
        raise Invalid(details={"Idempotency-Key": "must be 1 to 255 characters"})
    scope = hashlib.sha256(f"{caller}\0{method}\0{path}".encode()).digest()
    return RetriedRequest(scope=scope, key=key, body_hash=hashlib.sha256(body).digest())


async def find_response(db: Db, request: RetriedRequest, *, now: datetime) -> StoredResponse | None:
    """Give the kept answer, or None to the one request that may run now.

    The lock comes in a statement of its own: a look-up in the same one would see the time before the lock.
    """
    lock = int.from_bytes(hashlib.sha256(request.scope + request.key.encode()).digest()[:8], signed=True)
    if not await db.fetchval("select pg_try_advisory_xact_lock($1)", lock):
        raise StillRunning
    row = await db.fetchrow(
        """select request_hash, status, headers, body from idempotency
        where scope = $1 and key = $2 and created_at > $3""",
        request.scope,
        request.key,
        now - KEPT_FOR,
    )
    if row is None:
        return None
    if row["request_hash"] != request.body_hash:
        raise KeyReused
    headers = msgspec.json.decode(row["headers"], type=dict[str, str])
    return StoredResponse(status=row["status"], headers=headers, body=row["body"])


async def store_response(db: Db, request: RetriedRequest, answer: StoredResponse, *, now: datetime) -> None:
    """Keep an answer in the same transaction as the change that it tells of."""
    await db.execute(
        """insert into idempotency as i (scope, key, request_hash, status, headers, body, created_at)
        values ($1, $2, $3, $4, $5, $6, $7)
        on conflict (scope, key) do update set request_hash = excluded.request_hash, status = excluded.status,
            headers = excluded.headers, body = excluded.body, created_at = excluded.created_at""",
        request.scope,
        request.key,
        request.body_hash,
        answer.status,
        msgspec.json.encode(answer.headers).decode(),
        answer.body,
        now,
    )


async def delete_old_responses(db: Db, *, now: datetime, limit: int) -> int:
    """Remove answers that are kept for nobody any more."""
    tag = await db.execute(
        """delete from idempotency where created_at <= $1 and ctid = any(array(
            select ctid from idempotency where created_at <= $1 order by created_at limit $2))""",
        now - KEPT_FOR,
        limit,
    )
    return count_of(tag)
