"""The verbs of a user's own sessions: see where one is signed in, and sign out there."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg
import structlog

from openslot.access import session_store as store
from openslot.access.errors import SessionNotFound
from openslot.access.models import Session
from openslot.accounts.models import User
from openslot.core.work import Runtime, Work

MOST_LISTED = 200
MOST_WAITING = 1000

log = structlog.get_logger()


async def list_sessions(work: Work, user: User) -> list[Session]:
    """List where a user is signed in: the session that asks, then by their last use, newest first."""
    this = work.actor.credential_id
    return await store.list_sessions(work.db, user.id, this=this, now=work.now, limit=MOST_LISTED)


async def end_session(work: Work, user: User, session_id: UUID) -> None:
    """Sign a user out in one browser, from the next request on."""
    if not await store.delete_own_session(work.db, user.id, session_id):
        raise SessionNotFound


async def end_other_sessions(work: Work, user: User) -> int:
    """Sign a user out everywhere but in the browser that asks for it, and return how many sessions ended."""
    if work.actor.credential_id is None:
        raise SessionNotFound
    return await store.delete_other_sessions(work.db, user.id, kept=work.actor.credential_id)


def notice_use(runtime: Runtime, session_id: UUID, *, seen_at: datetime, now: datetime) -> None:
    """Have the hour of a session's use written, at most once an hour; the request does not wait for it."""
    if now - seen_at >= timedelta(hours=1):
        runtime.batcher(_note_seen).tell(session_id, most_waiting=MOST_WAITING)


async def _note_seen(runtime: Runtime, session_ids: Sequence[UUID]) -> Sequence[None]:
    hour = runtime.clock().replace(minute=0, second=0, microsecond=0)
    try:
        await store.note_seen(runtime.pool, session_ids, hour=hour)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as fault:
        log.warning("uses of sessions were not written", sessions=len(session_ids), error=str(fault))
    return [None] * len(session_ids)
