"""What happened to a booking, by whom, and what was done because of it."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from openslot.accounts.models import User
from openslot.bookings.events import BookingCancelled, BookingCreated, BookingRescheduled
from openslot.bookings.models import Booking, BookingChange
from openslot.bookings.reasons import show_reason
from openslot.bookings.rules import CALENDAR
from openslot.core.actor import Actor, ActorKind
from openslot.i18n import Text
from openslot.integrations.timeline.models import TimelineEffect
from openslot.web.dashboard import phrases
from openslot.web.dashboard.steps import Step, describe_step

ACTORS: dict[ActorKind, str] = {
    ActorKind.SCIM: Text("Your organization"),
    ActorKind.AGENT: Text("An agent"),
    ActorKind.OPERATOR: Text("The administrator"),
    ActorKind.SYSTEM: "Openslot",
}
YOURS = {
    BookingCreated.type: Text("You created this booking"),
    BookingRescheduled.type: Text("You rescheduled this booking"),
    BookingCancelled.type: Text("You cancelled this booking"),
}


class HistoryRow(Struct, frozen=True, kw_only=True):
    """One change of a booking, and the steps that followed from it."""

    title: Text
    at: Text | None
    was: Text | None
    """When the meeting was before."""
    reason: str | None
    steps: tuple[Step, ...]


def tell_history(
    booking: Booking, changes: Sequence[BookingChange], effects: Sequence[TimelineEffect], user: User, *, now: datetime
) -> list[HistoryRow]:
    """List every change with its steps, followed by what is planned."""
    told = [_tell(booking, change, effects, user, now=now) for change in changes if change.type in YOURS]
    known = {change.event_id for change in changes if change.type in YOURS}
    others = tuple(describe_step(each, user, now=now) for each in effects if each.event_id not in known - {None})
    if others:
        told.append(HistoryRow(title=Text("Reminders and other steps"), at=None, was=None, reason=None, steps=others))
    return told


def _tell(
    booking: Booking, change: BookingChange, effects: Sequence[TimelineEffect], user: User, *, now: datetime
) -> HistoryRow:
    own = change.event_id is not None
    steps = [describe_step(each, user, now=now) for each in effects if own and each.event_id == change.event_id]
    before = change.previous_starts_at
    return HistoryRow(
        title=_say_who(booking, change, user),
        at=phrases.at(change.at, user.zone, now=now),
        was=Text("It was %(when)s", when=phrases.at(before, user.zone, now=now)) if before else None,
        reason=show_reason(change.reason) if change.reason and change.type != BookingCreated.type else None,
        steps=tuple(steps),
    )


def _say_who(booking: Booking, change: BookingChange, user: User) -> Text:
    if _is_own(change.actor, user):
        return YOURS[change.type]
    who = ACTORS.get(change.actor.kind, booking.invitee_name)
    if change.actor.organization_id is not None:
        who = ACTORS[ActorKind.SCIM]
    if change.type == BookingCreated.type:
        return Text("%(who)s created this booking", who=who)
    if change.type == BookingRescheduled.type:
        return Text("%(who)s rescheduled this booking", who=who)
    return Text("%(who)s cancelled this booking", who=who)


def _is_own(actor: Actor, user: User) -> bool:
    return actor.agent == CALENDAR or (actor.kind in {ActorKind.SESSION, ActorKind.KEY} and actor.user_id == user.id)
