"""Verifying the audit chain: what was changed, deleted, exchanged or cut off, record by record."""

from collections.abc import AsyncIterator, Callable

from msgspec import Struct

from openslot.agents import audit_store as store
from openslot.agents.chain import ChainEnd, ChainLink, follows, is_intact
from openslot.core.db import Db
from openslot.core.signing import Signer
from openslot.core.work import Runtime

BATCH = 2_000


class ChainFault(Struct, frozen=True, kw_only=True):
    """What is wrong with the chain, and where."""

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
    """Goes along the chain and collects what is wrong."""

    def __init__(self, signer: Signer, noted: tuple[int, str] | None) -> None:
        self._signer = signer
        self._noted = noted
        self._last: bytes | None = b""
        """The signature of the record before; None if that record is missing."""
        self._no = 0
        self.records = 0
        self.faults: list[ChainFault] = []

    def check(self, link: ChainLink) -> None:
        """Check the next record."""
        if link.no > self._no + 1:
            self.add(self._no + 1, _missing(self._no + 1, link.no - 1))
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
        """Note what is wrong with a record."""
        self.faults.append(ChainFault(no=no, fault=fault))


def _missing(first: int, last: int) -> str:
    return "is missing" if first == last else f"to {last} are missing"
