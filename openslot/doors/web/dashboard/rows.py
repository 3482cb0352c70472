"""Bookings as rows, by day, and effects as steps: what is done, how it stands, and what to do if it failed."""

from collections.abc import Callable
from datetime import datetime
from urllib.parse import urlsplit
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.bookings.events import (
    BookingCancelled,
    BookingInvitationFailed,
    BookingLinkAdded,
    BookingRescheduled,
)
from openslot.domains.conversations.models import Channel
from openslot.domains.timeline.models import EffectKind, TimelineEffect
from openslot.doors.web.shared import words
from openslot.doors.web.shared.reasons import find_reason
from openslot.platform.core.events import EffectState
from openslot.platform.core.holding import name_stop
from openslot.platform.flags.models import OutgoingChannel
from openslot.platform.i18n import PluralText, Text

STOPS = {name_stop(channel).kept for channel in OutgoingChannel}
CHANNELS = {Channel.SMS: "SMS", Channel.WHATSAPP: "WhatsApp"}
PLANNING = {
    EffectKind.MAIL: Text("Emails about this change"),
    EffectKind.WEBHOOK: Text("Webhooks about this change"),
    EffectKind.CALENDAR: Text("Calendar entry"),
    EffectKind.MESSAGE: Text("Messages about this meeting"),
    EffectKind.CRM: Text("CRM"),
    EffectKind.REFUND: Text("Refund"),
}


class Step(Struct, frozen=True, kw_only=True):
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
    status, tone = _STATUSES[effect.state](effect, user, now)
    note = (find_reason(effect.error) or effect.error) if effect.error else None
    is_failing = effect.state is EffectState.DEAD or _is_retried(effect)
    shows_note = is_failing or effect.state is EffectState.SKIPPED or _is_stopped(effect)
    if effect.is_to_host and effect.recipient == user.email:
        effect = replace(effect, recipient=None)
    return Step(
        id=effect.id,
        title=PLANNING[effect.kind] if effect.plans_others else NAMES[effect.kind](effect),
        status=status,
        tone=tone,
        tries=PluralText("tried once", "tried %(count)s times", count=effect.attempts) if is_failing else None,
        note=note if shows_note else None,
        is_text=isinstance(note, Text),
        may_retry=effect.state is EffectState.DEAD,
    )


def _name_webhook(effect: TimelineEffect) -> Text:
    if effect.target_name is None:
        return Text("Webhook to a deleted endpoint")
    return Text("Webhook to %(host)s", host=urlsplit(effect.target_name).hostname or effect.target_name)


def _name_calendar(effect: TimelineEffect) -> Text:
    return (
        Text("Calendar “%(name)s”", name=effect.target_name) if effect.target_name else Text("A disconnected calendar")
    )


def _name_crm(effect: TimelineEffect) -> Text:
    return Text("CRM “%(name)s”", name=effect.target_name) if effect.target_name else Text("A disconnected CRM")


def _name_mail(effect: TimelineEffect) -> Text:
    to = effect.recipient
    if effect.kind is EffectKind.REMINDER:
        return Text("Reminder to %(recipient)s", recipient=to) if to else Text("Reminder to you")
    if effect.event_type == BookingCancelled.type:
        return Text("Cancellation to %(recipient)s", recipient=to) if to else Text("Cancellation to you")
    if effect.event_type == BookingLinkAdded.type:
        return Text("Link to %(recipient)s", recipient=to) if to else Text("Link to you")
    if effect.event_type == BookingInvitationFailed.type:
        return Text("Invitation to %(recipient)s", recipient=to or "")
    if effect.event_type == BookingRescheduled.type:
        return Text("Reschedule notice to %(recipient)s", recipient=to) if to else Text("Reschedule notice to you")
    return Text("Confirmation to %(recipient)s", recipient=to) if to else Text("Confirmation to you")


def _name_mail_follow_up(effect: TimelineEffect) -> Text:
    to = effect.recipient
    return Text("Follow-up to %(recipient)s", recipient=to) if to else Text("Follow-up to you")


def _name_message(effect: TimelineEffect) -> Text:
    told = {"channel": CHANNELS.get(Channel(effect.target_name or "sms"), ""), "recipient": effect.recipient or ""}
    if effect.kind is EffectKind.MESSAGE:
        return Text("Reminder by %(channel)s to %(recipient)s", **told)
    return Text("Follow-up by %(channel)s to %(recipient)s", **told)


def _is_stopped(effect: TimelineEffect) -> bool:
    return effect.state is EffectState.QUEUED and effect.error in STOPS


def _is_retried(effect: TimelineEffect) -> bool:
    return effect.state is EffectState.QUEUED and effect.attempts > 0 and not _is_stopped(effect)


def _format_queued(effect: TimelineEffect, user: User, now: datetime) -> tuple[Text, str]:
    if _is_retried(effect):
        return words.retry_in(effect.next_try_at - now), "bad"
    if effect.next_try_at > now:
        return words.at(effect.next_try_at, user.zone, now=now), "wait"
    return Text("in progress"), "wait"


def _format_done(effect: TimelineEffect, user: User, now: datetime) -> tuple[Text, str]:
    if effect.in_mailbox:
        return Text("in the mailbox, not sent"), "none"
    return words.at(effect.finished_at or effect.next_try_at, user.zone, now=now), "good"


NAMES: dict[EffectKind, Callable[[TimelineEffect], Text]] = {
    EffectKind.MAIL: _name_mail,
    EffectKind.REMINDER: _name_mail,
    EffectKind.MAIL_FOLLOW_UP: _name_mail_follow_up,
    EffectKind.MESSAGE: _name_message,
    EffectKind.FOLLOW_UP: _name_message,
    EffectKind.WEBHOOK: _name_webhook,
    EffectKind.CALENDAR: _name_calendar,
    EffectKind.CRM: _name_crm,
    EffectKind.CONFERENCE: lambda _: Text("Link of the video call"),
    EffectKind.REFUND: lambda _: Text("Refund"),
    EffectKind.WAIT_LIST: lambda _: Text("Offer of the time to the wait list"),
    EffectKind.TEAM_CHAT: lambda _: Text("Message to the team chat"),
    EffectKind.ENDING: lambda _: Text("End of payments and plans of a closed account"),
    # Of a version that had steps which this one does not know.
    EffectKind.OTHER: lambda _: Text("Another step"),
}
_STATUSES: dict[EffectState, Callable[[TimelineEffect, User, datetime], tuple[Text, str]]] = {
    EffectState.QUEUED: _format_queued,
    EffectState.DONE: _format_done,
    EffectState.RUNNING: lambda *_: (Text("in progress"), "wait"),
    EffectState.WAITING: lambda *_: (Text("waiting for an earlier step"), "wait"),
    EffectState.DEAD: lambda *_: (Text("failed"), "bad"),
    EffectState.SKIPPED: lambda *_: (Text("skipped"), "none"),
}
