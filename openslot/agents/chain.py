"""The chain of audit records: each is signed together with the one before it, and the end is signed too."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from openslot.agents.models import CallRecord
from openslot.core.ids import Signer

RECORD, END = "agent call", "end of the agent calls"
# Follows no record: what is signed with it in front can't be verified, so that the break stays visible.
BROKEN = b"the chain was changed before this record"

encode = msgspec.json.Encoder().encode


class ChainEnd(Struct, frozen=True, kw_only=True):
    """How long the chain is, and the signature of its last record."""

    records: int = 0
    last: bytes = b""
    signature: bytes | None = None
    """None: nothing was ever recorded."""


class ChainLink(Struct, frozen=True, kw_only=True):
    """A record with its number and its signature."""

    no: int
    record: CallRecord
    signature: bytes


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
