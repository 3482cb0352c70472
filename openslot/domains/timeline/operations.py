"""The verbs of timelines: read how effects stand, and retry one that has failed."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from openslot.domains.accounts.models import User
from openslot.domains.timeline import store
from openslot.domains.timeline.models import Attention, EffectNotFound, TimelineEffect
from openslot.platform.core.revivals import Revival, revive_effects
from openslot.platform.core.work import Work

SHOWN_FOR = timedelta(days=14)
MAX_SHOWN = 10


async def list_timeline(work: Work, host: User, booking_id: UUID) -> list[TimelineEffect]:
    """Read what is done because of a host's booking, in the order in which it was planned."""
    return [effect for effect in await store.list_of_booking(work.db, booking_id, host.id) if effect.is_shown]


async def count_failed_effects(work: Work, host: User, booking_ids: Sequence[UUID]) -> dict[UUID, int]:
    """Count, by booking, the effects that have failed for good; bookings without one are left out."""
    return await store.count_failed(work.db, booking_ids, host.id) if booking_ids else {}


async def list_attention(work: Work, host: User) -> Attention:
    """Read what has failed for a host in the last two weeks, and what does not work or is unusual now."""
    return await store.list_attention(work.db, host.id, since=work.now - SHOWN_FOR, now=work.now, limit=MAX_SHOWN)


async def retry_effect(work: Work, host: User, effect_id: UUID, *, booking_id: UUID | None = None) -> Revival:
    """Give a failed effect of a host a fresh set of attempts; the work must begin without a transaction."""
    is_failed = await store.is_failed(work.db, effect_id, host.id, booking_id)
    revivals = await revive_effects(work, [effect_id]) if is_failed else []
    if not revivals:
        raise EffectNotFound
    return revivals[0]
