"""Effects as steps that a host understands: what is done, how it stands, and what to do if it has failed."""

from collections.abc import Callable
from datetime import datetime
from urllib.parse import urlsplit
from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.bookings.events import BookingCancelled, BookingRescheduled
from openslot.core.planned import REPLANNED
from openslot.core.revivals import DONE_SINCE, REPLACED, TOO_OLD
from openslot.i18n import PluralText, Text
from openslot.integrations.calendars.failures import show_failure
from openslot.integrations.mail.models import UNWANTED
from openslot.integrations.mail.reactions import CANCELLED, MOVED, NO_HOST, OVER
from openslot.integrations.timeline.models import EffectKind, EffectState, TimelineEffect
from openslot.web.dashboard import phrases

# Why something was left out, in the words of the code that left it out.
REASONS = {
    OVER: Text("the meeting is over"),
    NO_HOST: Text("the account is deleted"),
    CANCELLED: Text("the booking is cancelled"),
    MOVED: Text("the booking was rescheduled"),
    UNWANTED: Text("you have turned these emails off"),
    REPLACED: Text("a newer change replaced it"),
    REPLANNED: Text("a newer change replaced it"),
    DONE_SINCE: Text("a later change was already carried out"),
    TOO_OLD: Text("it is too old"),
    "the endpoint is deleted": Text("the endpoint is deleted"),
    "the endpoint is paused": Text("the endpoint is paused"),
    "the endpoint is disabled": Text("the endpoint is switched off"),
    "a replay has arrived already": Text("it was resent and delivered"),
    "the calendar is disconnected": Text("the calendar is disconnected"),
}
PLANNING = {
    EffectKind.MAIL: Text("Emails about this change"),
    EffectKind.WEBHOOK: Text("Webhooks about this change"),
    EffectKind.CALENDAR: Text("Calendar entry"),
}


class Step(Struct, frozen=True, kw_only=True):
    """One line of a timeline."""

    id: UUID
    title: Text
    status: Text
    tone: str
    tries: Text | None = None
    note: str | None = None
    """Why it failed or was left out."""
    is_text: bool = False
    """Whether the note is ours, and not what another server has said."""
    may_retry: bool = False


def describe_step(effect: TimelineEffect, user: User, *, now: datetime) -> Step:
    """Describe an effect in a host's words."""
    status, tone = _STATUSES[effect.state](effect, user, now)
    note = (REASONS.get(effect.error) or show_failure(effect.error)) if effect.error else None
    is_failing = effect.state is EffectState.DEAD or _is_retried(effect)
    shows_note = is_failing or effect.state is EffectState.SKIPPED
    return Step(
        id=effect.id,
        title=name_step(effect),
        status=status,
        tone=tone,
        tries=PluralText("tried once", "tried %(count)s times", count=effect.attempts) if is_failing else None,
        note=note if shows_note else None,
        is_text=isinstance(note, Text),
        may_retry=effect.state is EffectState.DEAD,
    )


def name_step(effect: TimelineEffect) -> Text:
    """Say what an effect does."""
    if effect.plans_others:
        return PLANNING[effect.kind]
    return _NAMES[effect.kind](effect)


def _name_webhook(effect: TimelineEffect) -> Text:
    if effect.place is None:
        return Text("Webhook to a deleted endpoint")
    return Text("Webhook to %(host)s", host=urlsplit(effect.place).hostname or effect.place)


def _name_calendar(effect: TimelineEffect) -> Text:
    return Text("Calendar “%(name)s”", name=effect.place) if effect.place else Text("A disconnected calendar")


def _name_mail(effect: TimelineEffect) -> Text:
    to = effect.recipient
    if effect.kind is EffectKind.REMINDER:
        return Text("Reminder to %(recipient)s", recipient=to) if to else Text("Reminder to you")
    if effect.event_type == BookingCancelled.type:
        return Text("Cancellation to %(recipient)s", recipient=to) if to else Text("Cancellation to you")
    if effect.event_type == BookingRescheduled.type:
        return Text("Reschedule notice to %(recipient)s", recipient=to) if to else Text("Reschedule notice to you")
    return Text("Confirmation to %(recipient)s", recipient=to) if to else Text("Confirmation to you")


def _is_retried(effect: TimelineEffect) -> bool:
    return effect.state is EffectState.QUEUED and effect.attempts > 0


def _say_queued(effect: TimelineEffect, user: User, now: datetime) -> tuple[Text, str]:
    if _is_retried(effect):
        return phrases.retry_in(effect.next_try_at - now), "bad"
    if effect.next_try_at > now:
        return phrases.at(effect.next_try_at, user.zone, now=now), "wait"
    return Text("in progress"), "wait"


def _say_done(effect: TimelineEffect, user: User, now: datetime) -> tuple[Text, str]:
    return phrases.at(effect.finished_at or effect.next_try_at, user.zone, now=now), "good"


_NAMES: dict[EffectKind, Callable[[TimelineEffect], Text]] = {
    EffectKind.MAIL: _name_mail,
    EffectKind.REMINDER: _name_mail,
    EffectKind.WEBHOOK: _name_webhook,
    EffectKind.CALENDAR: _name_calendar,
    EffectKind.OTHER: lambda _: Text("Another step"),
}
_STATUSES: dict[EffectState, Callable[[TimelineEffect, User, datetime], tuple[Text, str]]] = {
    EffectState.QUEUED: _say_queued,
    EffectState.DONE: _say_done,
    EffectState.RUNNING: lambda *_: (Text("in progress"), "wait"),
    EffectState.WAITING: lambda *_: (Text("waiting for an earlier step"), "wait"),
    EffectState.DEAD: lambda *_: (Text("failed"), "bad"),
    EffectState.SKIPPED: lambda *_: (Text("skipped"), "none"),
}
