"""What webhooks store verbatim, sealed by a data key: the bodies that are sent, and what receivers answer."""

from uuid import UUID

from openslot.core.secrets import SealBroken
from openslot.core.work import Runtime
from openslot.webhooks.models import KeptBody

BODIES, ANSWERS = "webhook bodies", "webhook answers"
# An answer without this prefix was stored in the clear by an earlier release.
MARK = b"sealed:"


def seal_body(runtime: Runtime, event_id: UUID, body: bytes) -> bytes:
    """Seal the bytes of an event's body."""
    return runtime.cipher.seal(BODIES, body, owner=event_id.bytes)


def open_body(runtime: Runtime, event_id: UUID, kept: KeptBody) -> bytes | None:
    """Open the bytes of an event's body; None where nothing is kept, or the key that sealed it is lost."""
    if kept.sealed is None:
        return kept.plain
    try:
        return runtime.cipher.open(BODIES, kept.sealed, owner=event_id.bytes)
    except SealBroken:
        return None


def seal_answer(runtime: Runtime, attempt_id: UUID, answer: bytes | None) -> bytes | None:
    """Seal a receiver's answer, because it may repeat what it was sent."""
    return None if answer is None else MARK + runtime.cipher.seal(ANSWERS, answer, owner=attempt_id.bytes)


def open_answer(runtime: Runtime, attempt_id: UUID, kept: bytes | None) -> bytes | None:
    """Open what a receiver answered; None where the key that sealed it is lost."""
    if kept is None or not kept.startswith(MARK):
        return kept
    try:
        return runtime.cipher.open(ANSWERS, kept[len(MARK) :], owner=attempt_id.bytes)
    except SealBroken:
        return None
