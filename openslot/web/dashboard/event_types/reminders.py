"""Pages: when and how people are reminded of the meetings of one event type, and the message after the meeting."""

from typing import Annotated, Any
from uuid import UUID

from msgspec import Meta, Struct

from openslot.accounts.models import User
from openslot.conversations.models import Channel
from openslot.core.work import Work
from openslot.event_types import operations as event_types
from openslot.event_types.models import EventType
from openslot.i18n import Text
from openslot.integrations.mail import operations as mail
from openslot.messaging import reminders
from openslot.messaging.connection_models import MessagingConnection
from openslot.messaging.connections import list_for_host
from openslot.messaging.models import FollowUp
from openslot.messaging.reminder_rules import HOURS, LONGEST_TEXT, LONGEST_WAIT
from openslot.routing import Form, Response, WhenEmpty, get, post
from openslot.web.dashboard.notifications import (
    REMINDERS_SAVED,
    RemindersForm,
    format_before,
    list_channels,
    list_times,
    read_minutes,
)
from openslot.web.dashboard.rows import CHANNELS
from openslot.web.pages import page, redirect

OWN = "own"
NOTICES = {
    "reminders": REMINDERS_SAVED,
    "follow-up": Text("The follow-up was saved. It applies to bookings that are created or rescheduled from now on."),
}
# Until something else is chosen.
USUAL_HOURS = 2


class EventRemindersForm(RemindersForm, frozen=True, kw_only=True):
    which: str = ""


class FollowUpForm(Struct, frozen=True, kw_only=True):
    is_on: bool = False
    hours: Annotated[int, Meta(ge=1, le=LONGEST_WAIT), WhenEmpty(HOURS)]
    follow_up: list[str] = []
    """The channels."""
    text: Annotated[str, Meta(max_length=5000)] = ""


class ShownFollowUp(Struct, frozen=True, kw_only=True):
    form: Form[FollowUpForm]
    channels: list[tuple[str, str, bool]]
    """Empty if no number is connected."""


@get("/event-types/{event_type_id}/reminders")
async def show_reminders(work: Work, user: User, event_type_id: UUID, form: Form[Any] = Form()) -> Response:
    event_type = await event_types.get_event_type(work, user, event_type_id)
    own, usual = await mail.find_own_reminders(work, user.id, event_type.id)
    stored, reminding = own or usual, form.of(EventRemindersForm)
    sent, numbers = reminding.sent, await list_for_host(work, user)
    return page(
        "dashboard/event_types/reminders.html",
        user,
        notices=NOTICES,
        here="/event-types",
        event_type=event_type,
        path=f"/event-types/{event_type.id}",
        form=reminding,
        is_own=sent.which == OWN if sent else own is not None,
        usual=[format_before(each) for each in usual.minutes],
        times=list_times(stored.minutes, sent.minutes if sent else [str(each) for each in stored.minutes]),
        channels=list_channels(numbers, sent.channels if sent else stored.channels),
        follow_up=await _show_follow_up(work, event_type, numbers, form.of(FollowUpForm)),
        longest=LONGEST_TEXT,
        longest_wait=LONGEST_WAIT,
    )


async def _show_follow_up(
    work: Work, event_type: EventType, numbers: list[MessagingConnection], form: Form[FollowUpForm]
) -> ShownFollowUp:
    stored = (await reminders.get_settings(work, event_type)).follow_up
    connected = [each.channel.messages for each in numbers]
    kept = stored.channels if stored else ()
    offered = [channel for channel in Channel if channel in connected or channel in kept]
    chosen = form.sent.follow_up if form.sent else kept or offered[:1]
    begun = {"hours": str(stored.hours_after), "text": stored.text, "is_on": "on"} if stored else {}
    return ShownFollowUp(
        form=form.begin({"hours": str(USUAL_HOURS), **begun}),
        channels=[(channel, CHANNELS[channel], channel in chosen) for channel in offered],
    )


@post("/event-types/{event_type_id}/reminders", shows=show_reminders)
async def save_reminders(work: Work, user: User, event_type_id: UUID, form: Form[EventRemindersForm]) -> Response:
    """Choose when and how people are reminded of these meetings, or return to the choice for all meetings."""
    found, sent = await event_types.get_event_type(work, user, event_type_id), form.get()
    minutes = read_minutes(sent.minutes) if sent.which == OWN else None
    await mail.set_reminders(work, user, found, minutes, channels=sent.chosen)
    return redirect(f"/event-types/{found.id}/reminders?done=reminders")


@post("/event-types/{event_type_id}/follow-up", shows=show_reminders, names={"channels": "follow_up"})
async def save_follow_up(work: Work, user: User, event_type_id: UUID, form: Form[FollowUpForm]) -> Response:
    """Choose what invitees who have agreed to messages are written after the meeting."""
    event_type, sent = await event_types.get_event_type(work, user, event_type_id), form.get()
    channels = tuple(channel for channel in Channel if channel in sent.follow_up)
    wanted = FollowUp(channels=channels, hours_after=sent.hours, text=sent.text.strip().replace("\r\n", "\n"))
    await reminders.set_follow_up(work, event_type, wanted if sent.is_on else None)
    return redirect(f"/event-types/{event_type.id}/reminders?done=follow-up")
