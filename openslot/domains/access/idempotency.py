"""Safe retries: the first answer to an Idempotency-Key is kept for a day and returned again."""

import hashlib
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.access import store
from openslot.domains.access.errors import KeyInUse, KeyReused, ResponseLost
from openslot.platform.core.db import Db
from openslot.platform.core.errors import Invalid
from openslot.platform.core.secrets import SealBroken
from openslot.platform.core.text import is_line
from openslot.platform.core.work import Work

KEPT_FOR = timedelta(hours=24)
PURPOSE = "answers"
HARD_TO_GUESS = 16
"""How many characters a key has that nobody guesses."""


class RetriedRequest(Struct, frozen=True, kw_only=True):
    """What makes two requests the same: who asks, for what, under which key, with which body."""

    scope: bytes
    key: str
    body_hash: bytes
    network: str = ""
    """The network that the caller is recognized by; empty if a credential identifies the caller."""


class StoredResponse(Struct, frozen=True, kw_only=True):
    status: int
    headers: dict[str, str]
    body: bytes
    network: str = ""
    """Where the first request came from."""


def read_request(*, caller: str, method: str, path: str, key: str, body: bytes, network: str = "") -> RetriedRequest:
    if not 1 <= len(key) <= 255 or not is_line(key):
        raise Invalid(details={"Idempotency-Key": "must be 1 to 255 characters"})
    scope = hashlib.sha256(f"{caller}\0{method}\0{path}".encode()).digest()
    return RetriedRequest(scope=scope, key=key, body_hash=hashlib.sha256(body).digest(), network=network)


async def find_response(work: Work, request: RetriedRequest) -> StoredResponse | None:
    """Return the kept answer, or None if this request is the one that may run now.

    The lock comes in a statement of its own: a look-up in the same one would see the time before the lock.
    """
    lock = int.from_bytes(hashlib.sha256(request.scope + request.key.encode()).digest()[:8], signed=True)
    if not await store.try_lock(work.db, lock):
        raise KeyInUse
    row = await store.find_answer(work.db, scope=request.scope, key=request.key, since=work.now - KEPT_FOR)
    if row is None:
        return None
    if row["request_hash"] != request.body_hash:
        raise KeyReused
    return _open(work, request, row["sealed"])


def may_be_another(request: RetriedRequest, kept: StoredResponse) -> bool:
    """Return whether somebody else may have guessed the key, who must not get what only who asked first may have."""
    return request.network != kept.network and len(request.key) < HARD_TO_GUESS


async def store_response(work: Work, request: RetriedRequest, answer: StoredResponse) -> None:
    """Keep an answer, sealed, in the same transaction as the change that it tells of."""
    kept = replace(answer, network=request.network)
    sealed = work.runtime.cipher.seal(PURPOSE, msgspec.msgpack.encode(kept), owner=_owner(request))
    await store.save_answer(
        work.db, scope=request.scope, key=request.key, request_hash=request.body_hash, sealed=sealed, now=work.now
    )


async def forget_response(work: Work, request: RetriedRequest) -> None:
    """Let the same request run again: what it did was undone."""
    await store.delete_answer(work.db, scope=request.scope, key=request.key)


async def delete_old_responses(db: Db, *, now: datetime, limit: int) -> int:
    return await store.delete_old_answers(db, before=now - KEPT_FOR, limit=limit)


def _open(work: Work, request: RetriedRequest, sealed: bytes) -> StoredResponse:
    try:
        opened = work.runtime.cipher.open(PURPOSE, sealed, owner=_owner(request))
    except SealBroken:
        raise ResponseLost from None
    return msgspec.msgpack.decode(opened, type=StoredResponse)


def _owner(request: RetriedRequest) -> bytes:
    return request.scope + request.key.encode()
