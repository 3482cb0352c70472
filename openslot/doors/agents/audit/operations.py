"""The audit record of every call: what it says, how it is kept, searched, and verified record by record."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime
from time import perf_counter
from uuid import UUID

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from openslot.doors.agents.approvals.operations import Verdict
from openslot.doors.agents.audit import store
from openslot.doors.agents.errors import ApprovalRefused, ApprovalRequired, CostKept, GateRefusal
from openslot.doors.agents.models import (
    AuditFilter,
    AuditStatus,
    CallRecord,
    ChainEnd,
    ChainLink,
    RecordedEvent,
    ToolCall,
)
from openslot.doors.agents.registry import AgentTool, CallTarget
from openslot.doors.http.bodies import shown
from openslot.doors.mcp.approvals import hash_arguments
from openslot.doors.mcp.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.db import Db
from openslot.platform.core.errors import Internal, Invalid, Refusal
from openslot.platform.core.ids import Signer, new_id
from openslot.platform.core.work import Runtime, Work

RECORD, END = "agent call", "end of the agent calls"
# Follows no record: what is signed with it in front can't be verified, so that the break stays visible.
BROKEN = b"the chain was changed before this record"

encode = msgspec.json.Encoder().encode


# benchmarks/caches.py: keep the record of an agent's call, 2.1 times
class CachedChainEnd:
    """The end of the chain as this process has last seen it, and the lock of the batch that writes behind it."""

    __slots__ = ("end", "lock")

    def __init__(self) -> None:
        self.end: ChainEnd | None = None
        self.lock = asyncio.Lock()


async def keep_record(runtime: Runtime, record: CallRecord) -> None:
    """Keep the record of a call that changed nothing; all that come at the same moment are chained in one commit."""
    await runtime.batcher(_keep_all).ask(record)


async def keep_records_with(work: Work, *records: CallRecord) -> None:
    """Keep the records of calls together with their changes: the last statement before the commit."""
    known = work.runtime.one(CachedChainEnd)
    after = await _try_to_append(work.runtime, work.db, records, known.end)
    # If this is not committed after all, the next one does not find its end and asks for it.
    known.end = after if after is not None else await _append(work.runtime, work.db, records)


async def _keep_all(runtime: Runtime, records: Sequence[CallRecord]) -> list[None]:
    known = runtime.one(CachedChainEnd)
    async with known.lock:
        after = await _try_to_append(runtime, runtime.pool, records, known.end)
        if after is None:
            async with runtime.transaction(SYSTEM) as work:
                after = await _append(runtime, work.db, records)
        known.end = after
    return [None] * len(records)


async def _append(runtime: Runtime, db: Db, records: Sequence[CallRecord]) -> ChainEnd:
    end = await store.lock_end(db)
    after = await _try_to_append(runtime, db, records, end)
    if after is None:
        raise RuntimeError("the end of the audit chain has changed in spite of the lock")
    return after


async def _try_to_append(
    runtime: Runtime, db: Db, records: Sequence[CallRecord], end: ChainEnd | None
) -> ChainEnd | None:
    """Append behind an end, without asking the database for it first; None if the chain ends elsewhere by now."""
    if end is None:
        return None
    links, after = extend(runtime.signer, end, records)
    return after if await store.append(db, links, before=end, after=after) else None


def extend(signer: Signer, end: ChainEnd, records: Sequence[CallRecord]) -> tuple[list[ChainLink], ChainEnd]:
    """Sign records as the next ones of a chain; behind an end that someone has changed, the break stays visible."""
    previous = end.last if is_intact(signer, end) else BROKEN
    links = []
    for no, record in enumerate(records, end.records + 1):
        previous = signer.sign(RECORD, _message(no, record, previous))
        links.append(ChainLink(no=no, record=record, signature=previous))
    count = end.records + len(records)
    return links, ChainEnd(records=count, last=previous, signature=signer.sign(END, _end(count, previous)))


def is_intact(signer: Signer, end: ChainEnd) -> bool:
    """Return whether nobody but us has written this end."""
    if end.signature is None:
        return end.records == 0 and end.last == b""
    return signer.is_signed(END, _end(end.records, end.last), end.signature)


def follows(signer: Signer, link: ChainLink, previous: bytes) -> bool:
    """Return whether a record is as it was signed, behind the record with the previous signature."""
    return signer.is_signed(RECORD, _message(link.no, link.record, previous), link.signature)


def _message(no: int, record: CallRecord, previous: bytes) -> bytes:
    return previous + b"%d" % no + encode(record)


def _end(records: int, last: bytes) -> bytes:
    return b"%d" % records + b":" + last


class Recorder(Struct, kw_only=True):
    """Collects what is known about one call, and writes its record when the call ends."""

    runtime: Runtime
    call: ToolCall
    name: str
    tool: AgentTool | None
    given: Mapping[str, object]
    began: float = field(default_factory=perf_counter)
    cost_micros: int = 0
    target: CallTarget | None = None
    approval_id: UUID | None = None
    verdict: Verdict | None = None
    """The state of the approval that the call needs."""

    def write(self, refusal: Refusal | None = None) -> CallRecord:
        call, tool, target, verdict = self.call, self.tool, self.target, self.verdict
        status, error_code = self._find_outcome(refusal)
        is_spent = status in {AuditStatus.OK, AuditStatus.APPROVED} or isinstance(refusal, CostKept)
        if isinstance(refusal, ApprovalRequired):
            self.approval_id = UUID(str(refusal.data["approvalId"]))
        return CallRecord(
            id=call.id,
            at=self.runtime.clock(),
            agent=verdict.agent if verdict is not None else call.caller.agent.slug,
            key_id=verdict.key_id if verdict is not None else call.caller.key_id,
            tool=shown(self.name),
            scope=tool.scope if tool is not None else None,
            tier=tool.tier if tool is not None else None,
            input_hash=hash_arguments(self.given),
            status=status,
            error_code=error_code,
            latency_ms=round((perf_counter() - self.began) * 1000),
            cost_micros=self.cost_micros if is_spent else 0,
            approval_id=verdict.approval_id if verdict is not None else self.approval_id,
            approver=verdict.approver if verdict is not None else None,
            request_id=call.request_id,
            target_type=target.type if target is not None else None,
            target_id=target.id if target is not None else None,
        )

    def _find_outcome(self, refusal: Refusal | None) -> tuple[AuditStatus, int | None]:
        if self.tool is None:
            return AuditStatus.UNKNOWN_TOOL, INVALID_PARAMS
        if refusal is not None:
            return outcome_of(refusal)
        return AuditStatus(self.verdict.status) if self.verdict is not None else AuditStatus.OK, None


def outcome_of(refusal: Refusal) -> tuple[AuditStatus, int | None]:
    """Return how a refused or failed call is recorded, and which JSON-RPC error it was answered with."""
    if isinstance(refusal, ApprovalRefused) and refusal.data.get("cause") == "expired":
        return AuditStatus.EXPIRED, refusal.rpc_code
    if isinstance(refusal, GateRefusal):
        return refusal.recorded_as, refusal.rpc_code
    if isinstance(refusal, Internal):
        return AuditStatus.INTERNAL_ERROR, INTERNAL_ERROR
    return AuditStatus.INVALID_ARGUMENTS if isinstance(refusal, Invalid) else AuditStatus.TOOL_ERROR, None


async def note_begun_call(work: Work, recorder: Recorder) -> None:
    """Note a call that is about to run without a transaction, committed at once."""
    record = recorder.write()
    await store.insert_begun(work.db, record.id, encode(record), at=record.at)


async def keep_begun_record(work: Work, record: CallRecord) -> None:
    """Keep the record of a call that was noted."""
    await store.delete_begun(work.db, record.id)
    await keep_records_with(work, record)


async def keep_abandoned_records(work: Work, *, before: datetime) -> int:
    """Keep the records of calls whose process died: nobody knows how far they came, and nothing was charged."""
    noted = await store.take_abandoned(work.db, before=before, limit=BATCH)
    if noted:
        await keep_records_with(
            work, *(_give_up(msgspec.json.decode(each, type=CallRecord), work.now) for each in noted)
        )
    return len(noted)


def _give_up(noted: CallRecord, now: datetime) -> CallRecord:
    # Under an id of its own: if the call ends after all, it is recorded too.
    return replace(
        noted,
        id=new_id(),
        at=now,
        status=AuditStatus.INTERNAL_ERROR,
        error_code=INTERNAL_ERROR,
        latency_ms=round((now - noted.at).total_seconds() * 1000),
        cost_micros=0,
    )


BATCH = 2_000


class ChainFault(Struct, frozen=True, kw_only=True):
    no: int
    fault: str


class Verified(Struct, frozen=True, kw_only=True):
    """How long the chain is, how it ends, and every fault in it."""

    records: int
    end: str | None
    """The signature of the last record: noted elsewhere, it proves later that nothing before it was changed."""
    faults: tuple[ChainFault, ...]


async def verify(
    runtime: Runtime, *, noted: tuple[int, str] | None = None, progress: Callable[[int, int], None] = lambda *_: None
) -> Verified:
    """Check every record against the one before it, and the end, as they are at this moment."""
    async with runtime.pool.acquire() as db, db.transaction(isolation="repeatable_read", readonly=True):
        end = await store.find_end(db)
        checking = _Checking(runtime.signer, noted)
        for no, record_id in await store.list_in_front(db, limit=BATCH):
            checking.add(no, f"was added in front of the first record ({record_id})")
        async for link in _walk(db):
            checking.check(link)
            if link.no % BATCH == 0:
                progress(link.no, end.records if end is not None else link.no)
        checking.check_end(end)
    found = tuple(sorted(checking.faults, key=lambda each: each.no))
    return Verified(records=checking.records, end=end.last.hex() if end is not None else None, faults=found)


async def _walk(db: Db) -> AsyncIterator[ChainLink]:
    behind = 0
    while links := await store.list_links(db, behind=behind, limit=BATCH):
        for link in links:
            yield link
        behind = links[-1].no


class _Checking:
    def __init__(self, signer: Signer, noted: tuple[int, str] | None) -> None:
        self._signer = signer
        self._noted = noted
        self._last: bytes | None = b""
        """The signature of the record before; None if that record is missing."""
        self._no = 0
        self.records = 0
        self.faults: list[ChainFault] = []

    def check(self, link: ChainLink) -> None:
        if link.no > self._no + 1:
            is_one = link.no == self._no + 2
            self.add(self._no + 1, "is missing" if is_one else f"to {link.no - 1} are missing")
            self._last = None
        if self._last is not None and not follows(self._signer, link, self._last):
            self.add(link.no, f"was changed, or is not the one that was written here ({link.record.id})")
        if self._noted is not None and self._noted == (link.no, link.signature.hex()):
            self._noted = None
        self._no, self._last = link.no, link.signature
        self.records += 1

    def check_end(self, end: ChainEnd | None) -> None:
        """Check that the chain ends where its end says, and that the end is ours."""
        if self._noted is not None:
            self.add(self._noted[0], "is not the record that was noted")
        if end is None:
            self.add(self._no + 1, "the end of the chain was deleted")
            return
        if not is_intact(self._signer, end):
            self.add(end.records, "the end of the chain was changed")
        if end.records > self._no:
            self.add(end.records, f"the last {end.records - self._no} records were cut off")
        elif (end.records, end.last) != (self._no, self._last or b""):
            self.add(self._no, f"the chain should end with record {end.records}, and with another signature")

    def add(self, no: int, fault: str) -> None:
        self.faults.append(ChainFault(no=no, fault=fault))


async def list_audited_calls(work: Work, wanted: AuditFilter, *, page: int, limit: int) -> list[CallRecord]:
    return await store.list_calls(work.db, wanted, offset=(page - 1) * limit, limit=limit)


async def list_audit_page(work: Work, wanted: AuditFilter, *, page: int, limit: int) -> tuple[list[CallRecord], bool]:
    """List the calls on a page, newest first, and return whether there is another page."""
    # To count a million records would take too long.
    found = await store.list_calls(work.db, wanted, offset=(page - 1) * limit, limit=limit + 1)
    return found[:limit], len(found) > limit


async def list_audited_events(
    work: Work, wanted: AuditFilter, *, page: int, limit: int
) -> tuple[list[RecordedEvent], bool]:
    """List the events on a page, newest first, and return whether there is another page."""
    found = await store.list_events(work.db, wanted, offset=(page - 1) * limit, limit=limit + 1)
    return found[:limit], len(found) > limit
