"""The verbs of timelines: read how effects stand, and retry one that has failed."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from openslot.accounts.models import User
from openslot.core.db import Row
from openslot.core.revivals import Revival, revive_effects
from openslot.core.work import Work
from openslot.integrations.calendars.event_store import WRITE
from openslot.integrations.mail.models import MailPot
from openslot.integrations.mail.reactions import REMIND, SEND
from openslot.integrations.timeline import rules, store
from openslot.integrations.timeline.models import (
    Attention,
    EffectKind,
    EffectNotFound,
    EffectState,
    FailedEffect,
    TimelineEffect,
    Trouble,
    UnsentMail,
)
from openslot.webhooks.operations import DELIVER, OLD_DELIVER

SHOWN_FOR = timedelta(days=14)
MAX_SHOWN = 10
KINDS = {
    SEND: EffectKind.MAIL,
    REMIND: EffectKind.REMINDER,
    DELIVER: EffectKind.WEBHOOK,
    OLD_DELIVER: EffectKind.WEBHOOK,
    WRITE: EffectKind.CALENDAR,
}


async def list_timeline(work: Work, host: User, booking_id: UUID) -> list[TimelineEffect]:
    """Read what is done because of a host's booking, in the order in which it was planned."""
    rows = await store.list_of_booking(work.db, booking_id, host.id)
    return [effect for row in rows if rules.is_shown(effect := _to_effect(row))]


async def count_failed(work: Work, host: User, booking_ids: Sequence[UUID]) -> dict[UUID, int]:
    """Count, by booking, the effects that have failed for good; bookings without one are left out."""
    return await store.count_failed(work.db, booking_ids, host.id) if booking_ids else {}


async def list_attention(work: Work, host: User) -> Attention:
    """Read what has failed for a host in the last two weeks, and what does not work or is unusual now."""
    rows = await store.list_attention(work.db, host.id, since=work.now - SHOWN_FOR, now=work.now, limit=MAX_SHOWN)
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["found"], []).append(row)
    return Attention(
        failed=tuple(map(_to_failed, found.get("effect", ()))),
        troubles=tuple(map(_to_trouble, [*found.get("calendar", ()), *found.get("webhook", ())])),
        unsent=tuple(
            UnsentMail(pot=MailPot(row["place"]), since=row["finished_at"]) for row in found.get("unsent", ())
        ),
        held=rules.find_unusual_holds(row["finished_at"] for row in found.get("held", ())),
    )


async def retry_effect(work: Work, host: User, effect_id: UUID, *, booking_id: UUID | None = None) -> Revival:
    """Give a failed effect of a host a fresh set of attempts; the work must begin without a transaction."""
    if not await store.is_failed(work.db, effect_id, host.id, booking_id):
        raise EffectNotFound
    revivals = await revive_effects(work, [effect_id])
    if not revivals:
        raise EffectNotFound
    return revivals[0]


def _to_effect(row: Row) -> TimelineEffect:
    kind, plans_others = rules.kind_of(row["reaction"], KINDS)
    return TimelineEffect(
        id=row["id"],
        event_id=row["event_id"],
        event_type=row["event_type"],
        kind=kind,
        plans_others=plans_others,
        recipient=rules.recipient_of(row["target"]) if kind in {EffectKind.MAIL, EffectKind.REMINDER} else None,
        place=row["place"],
        state=EffectState(row["state"]),
        attempts=row["attempts"],
        next_try_at=row["next_try_at"],
        finished_at=row["finished_at"],
        error=row["last_error"],
    )


def _to_failed(row: Row) -> FailedEffect:
    known = row["invitee_name"] is not None
    return FailedEffect(
        effect=_to_effect(row),
        booking_id=row["booking_id"] if known else None,
        invitee_name=row["invitee_name"],
        event_type_name=row["event_type_name"],
    )


def _to_trouble(row: Row) -> Trouble:
    return Trouble(
        kind=EffectKind(row["found"]), label=row["place"], since=row["finished_at"], reason=row["last_error"]
    )
