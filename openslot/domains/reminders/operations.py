"""The verbs, the only writers: choose what people are written before and after meetings."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType
from openslot.domains.reminders import rules, store
from openslot.domains.reminders.models import Entries, ReminderEntry, ReminderMoment
from openslot.domains.teams.events import EventTypeTakenOver
from openslot.platform.core.errors import NotFound
from openslot.platform.core.events import Event
from openslot.platform.core.work import Consequence, Work
from openslot.platform.i18n import Text


class ReminderNotFound(NotFound):
    """No such reminder or follow-up, or it was deleted."""

    code = "reminder_not_found"
    message = Text("Reminder not found")


async def get_reminders(work: Work, host_id: UUID, event_type_id: UUID | None = None) -> Entries:
    """Return what people are written about a meeting: the event type's choice, the host's, or ours."""
    own, usual = await find_own_reminders(work, host_id, event_type_id)
    return usual if own is None else own


async def find_own_reminders(work: Work, host_id: UUID, event_type_id: UUID | None) -> tuple[Entries | None, Entries]:
    """Return what an event type has chosen, None if it has not, and what its host's other meetings have."""
    found = await store.find_chosen(work.db, host_id, event_type_id)
    return found.get(True), found.get(False, rules.DEFAULT_REMINDERS)


async def set_reminder_entries(
    work: Work, host: User, event_type: EventType | None, entries: Iterable[ReminderEntry] | None
) -> Entries:
    """Choose what people are written; None returns to the next broader setting."""
    event_type_id = event_type.id if event_type else None
    if entries is None:
        await store.delete(work.db, host.id, event_type_id)
        return await get_reminders(work, host.id, event_type_id)
    chosen = rules.check_entries(entries)
    await store.upsert(work.db, host.id, event_type_id, chosen, now=work.now)
    return chosen


async def set_reminders(
    work: Work,
    host: User,
    event_type: EventType | None,
    minutes: Sequence[int] | None,
    *,
    channels: Sequence[str] | None = None,
) -> Entries:
    """Choose when and how people are reminded; None returns to the next broader setting, or keeps the channels."""
    if minutes is None:
        return await set_reminder_entries(work, host, event_type, None)
    kept = await _lock_reminders(work, host, event_type)
    if channels is None:
        known = {each.channel for each in kept if each.is_reminder}
        by = tuple(known) or (rules.DEFAULT_REMINDERS[0].channel,)
    else:
        by = rules.check_channels(channels)
    return await set_reminder_entries(work, host, event_type, rules.with_times(kept, minutes, by))


async def save_reminder_entry(
    work: Work, host: User, event_type: EventType | None, name: str | None, entry: ReminderEntry
) -> Entries:
    """Change one entry, or add one if it has no name yet."""
    kept = await _lock_reminders(work, host, event_type)
    others = [each for each in kept if each.name != name]
    if name is not None and len(others) == len(kept):
        raise ReminderNotFound
    return await set_reminder_entries(work, host, event_type, [*others, entry])


async def delete_reminder_entry(work: Work, host: User, event_type: EventType | None, name: str) -> Entries:
    kept = await _lock_reminders(work, host, event_type)
    others = [each for each in kept if each.name != name]
    if len(others) == len(kept):
        raise ReminderNotFound
    return await set_reminder_entries(work, host, event_type, others)


async def _lock_reminders(work: Work, host: User, event_type: EventType | None) -> Entries:
    event_type_id = event_type.id if event_type else None
    await store.lock_chosen(work.db, host.id, event_type_id)
    return await get_reminders(work, host.id, event_type_id)


def get_reminder_entry(entries: Entries, name: str) -> ReminderEntry:
    found = next((each for each in entries if each.name == name), None)
    if found is None:
        raise ReminderNotFound
    return found


def list_reminder_times(entries: Entries) -> list[int]:
    """List how long before a meeting people are reminded, each time once, earliest first."""
    return sorted({each.minutes for each in entries if each.moment is ReminderMoment.BEFORE}, reverse=True)


async def follow_owner(work: Work, event: Event) -> None:
    """Keep what a team's event type has chosen when it gets another owner; without a choice, the new owner's holds."""
    if isinstance(event, EventTypeTakenOver):
        await store.give_to_owner(work.db, event.event_type_id, event.owner_id)


REMINDER_CONSEQUENCES = (Consequence(name="reminders.follow_owner", on=EventTypeTakenOver, run=follow_owner),)
