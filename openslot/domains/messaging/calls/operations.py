"""Calls through connected numbers: what providers tell of them becomes the log of calls."""

from datetime import timedelta
from uuid import UUID

import structlog

from openslot.domains.calls.models import CallDirection, Ending
from openslot.domains.calls.operations import CallSource, add_call_recording, find_owner_of_call, record_call
from openslot.domains.messaging.calls.store import (
    find_called_host,
    insert_call_notice,
    keep_recording,
    lock_call,
    take_recording,
)
from openslot.domains.messaging.connections.models import MessagingConnection
from openslot.domains.messaging.models import CallNotice, CallProgress, RecordingNotice
from openslot.domains.messaging.ports import MalformedNotice
from openslot.platform.core.sealing import seal
from openslot.platform.core.text import parse_phone
from openslot.platform.core.work import Work

# How long it is known which notices have come; older ones are refused, so that none counts twice.
KEPT_FOR = timedelta(days=30)

log = structlog.get_logger()


def check_call_notice(work: Work, connection: MessagingConnection, notice: CallNotice) -> None:
    """Refuse a notice of a call that did not go through the number, or that is too old."""
    own = notice.recipient if notice.direction is CallDirection.INBOUND else notice.sender
    if own != connection.number:
        raise MalformedNotice("the call is with another number than the one that is connected")
    if notice.at is not None and notice.at < work.now - KEPT_FOR:
        raise MalformedNotice(f"at is more than {KEPT_FOR.days} days ago")


async def receive_call(work: Work, connection: MessagingConnection, notice: CallNotice) -> None:
    """Keep a call that is under way or over; a notice that is repeated, or comes late, changes nothing."""
    is_answered = notice.status is CallProgress.IN_PROGRESS
    phone = _read_phone(notice)
    if phone is None:
        # Callers may hide their number, and a log is of calls with numbers.
        log.info("a call with no phone number was left out", connection=str(connection.id))
        return
    await lock_call(work.db, connection.id, notice.id)
    if notice.sequence is not None and not await insert_call_notice(
        work.db, connection.id, notice.id, notice.sequence, now=work.now
    ):
        return
    if notice.status.outcome is None and not is_answered:
        return
    host_id = await _find_host(work, connection, notice, phone)
    if host_id is None:
        log.warning("a call came for an organization without members", connection=str(connection.id))
        return
    await _record(work, connection, notice, host_id=host_id, phone=phone)


async def receive_recording(work: Work, connection: MessagingConnection, notice: RecordingNotice) -> None:
    """Keep a recording with its call, or until the call is known."""
    await lock_call(work.db, connection.id, notice.call_id)
    sealed = await seal(work, notice.ref)
    if not await add_call_recording(work, connection.id, notice.call_id, sealed):
        await keep_recording(work.db, connection.id, notice.call_id, sealed, now=work.now)


def _read_phone(notice: CallNotice) -> str | None:
    other = notice.sender if notice.direction is CallDirection.INBOUND else notice.recipient
    try:
        return parse_phone(other)
    except ValueError:
        return None


async def _find_host(work: Work, connection: MessagingConnection, notice: CallNotice, phone: str) -> UUID | None:
    """Find whose call it is: it stays with whom it began, also if they write with somebody else meanwhile."""
    known = await find_owner_of_call(work, connection.id, notice.id)
    return known or await find_called_host(work.db, connection, phone=phone)


async def _record(
    work: Work, connection: MessagingConnection, notice: CallNotice, *, host_id: UUID, phone: str
) -> None:
    at, outcome = min(notice.at or work.now, work.now), notice.status.outcome
    lasted = notice.duration or timedelta()
    waited = await take_recording(work.db, connection.id, notice.id)
    seconds = None if notice.duration is None else lasted // timedelta(seconds=1)
    source = CallSource(
        connection_id=connection.id,
        recording=await seal(work, notice.recording) if notice.recording else waited,
        transcript=await seal(work, notice.transcript) if notice.transcript else None,
    )
    await record_call(
        work,
        owner_id=host_id,
        direction=notice.direction,
        phone=phone,
        agent_name=notice.agent_name or "",
        started_at=at - lasted if outcome else at,
        vendor_id=notice.id,
        ending=Ending(status=outcome, ended_at=at, duration_seconds=seconds) if outcome else None,
        source=source,
    )
