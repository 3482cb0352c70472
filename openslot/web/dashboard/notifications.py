"""Pages: which mails a host gets, and when people are reminded of meetings."""

from collections.abc import Sequence

from msgspec import Struct

from openslot.accounts.models import User
from openslot.core.errors import Invalid
from openslot.core.work import Work
from openslot.i18n import PluralText, Text
from openslot.integrations.mail import operations as mail
from openslot.integrations.mail.models import MailTopic, ReminderChannel
from openslot.messaging.connection_models import MessagingConnection
from openslot.messaging.connections import list_for_host
from openslot.routing import Form, Response, get, post
from openslot.web.pages import page, redirect

HERE = "/settings/notifications"
REMINDERS_SAVED = Text(
    "The reminders were saved. New times apply to bookings that are created or rescheduled from now on."
)
NOTICES = {"saved": Text("Your choice was saved."), "reminders": REMINDERS_SAVED}
MEETINGS = {
    MailTopic.BOOKED: (Text("New booking"), Text("Someone has booked a time with you.")),
    MailTopic.RESCHEDULED: (Text("Booking rescheduled"), Text("A booking has a new time.")),
    MailTopic.CANCELLED: (Text("Booking cancelled"), Text("A booking will not take place.")),
    MailTopic.REMINDER: (
        Text("Reminder"),
        Text("Before a meeting, at the times below. Applies to bookings that are created or rescheduled from now on."),
    ),
}
PROBLEMS = {
    MailTopic.CALENDAR: (
        Text("Problem with a calendar"),
        Text("It can't be synced, a change in it was refused, or bookings are missing from it."),
    ),
    MailTopic.WEBHOOK: (
        Text("Webhook switched off"),
        Text("An endpoint has failed for days or is gone, so events are no longer sent to it."),
    ),
}
CHANNELS: dict[ReminderChannel, Text | str] = {
    ReminderChannel.EMAIL: Text("Email"),
    ReminderChannel.SMS: "SMS",
    ReminderChannel.WHATSAPP: "WhatsApp",
}
# In minutes before a meeting; what was chosen otherwise is offered beside them.
USUAL = (7 * 24 * 60, 2 * 24 * 60, 24 * 60, 4 * 60, 2 * 60, 60, 30, 15)
WRONG = Text("must be one of these times")


class TopicsForm(Struct, frozen=True, kw_only=True):
    topics: list[str] = []


class RemindersForm(Struct, frozen=True, kw_only=True):
    minutes: list[str] = []
    has_channels: str = ""
    """Whether channels were offered."""
    channels: list[str] = []

    @property
    def chosen(self) -> list[str] | None:
        """The channels; None: they stay as they are."""
        return self.channels if self.has_channels else None


@get(HERE)
async def show_notifications(work: Work, user: User, form: Form[RemindersForm] = Form()) -> Response:
    stored = await mail.get_reminders(work, user.id)
    typed = form.sent.minutes if form.sent else [str(each) for each in stored.minutes]
    return page(
        "dashboard/notifications/notifications.html",
        user,
        here=HERE,
        notices=NOTICES,
        groups=[(Text("Meetings"), MEETINGS), (Text("Problems"), PROBLEMS)],
        topics=await mail.get_topics(work, user),
        form=form,
        reminders=list_times(stored.minutes, typed),
        channels=list_channels(await list_for_host(work, user), form.sent.channels if form.sent else stored.channels),
    )


@post(HERE)
async def change_notifications(work: Work, user: User, form: Form[TopicsForm]) -> Response:
    """Choose which mails the host gets."""
    if form.sent is None:
        raise Invalid(details=form.faults)
    await mail.set_topics(work, user, frozenset(topic for topic in MailTopic if topic in form.sent.topics))
    return redirect(f"{HERE}?done=saved")


@post(f"{HERE}/reminders", shows=show_notifications)
async def change_reminders(work: Work, user: User, form: Form[RemindersForm]) -> Response:
    """Choose when invitees and guests are reminded."""
    sent = form.get()
    await mail.set_reminders(work, user, None, read_minutes(sent.minutes), channels=sent.chosen)
    return redirect(f"{HERE}?done=reminders")


def read_minutes(sent: list[str]) -> tuple[int, ...]:
    if not all(each.isascii() and each.isdecimal() and len(each) < 7 for each in sent):
        raise Invalid(details={"minutes": WRONG})
    return tuple(int(each) for each in sent)


def list_times(stored: tuple[int, ...], typed: list[str]) -> list[tuple[int, Text, bool]]:
    """List the times to choose from, earliest first, with those that are chosen."""
    return [(each, format_before(each), str(each) in typed) for each in sorted({*USUAL, *stored}, reverse=True)]


def list_channels(numbers: Sequence[MessagingConnection], chosen: Sequence[str]) -> list[tuple[str, Text | str, bool]]:
    """List by which channels people can be reminded, with those that are chosen; none if there is nothing to choose."""
    connected = {each.channel.value for each in numbers}
    offered = [each for each in ReminderChannel if each in {ReminderChannel.EMAIL, *connected, *chosen}]
    return [(each, CHANNELS[each], each in chosen) for each in offered] if len(offered) > 1 else []


def format_before(minutes: int) -> Text:
    if minutes % (24 * 60) == 0:
        return PluralText("%(count)s day before", "%(count)s days before", count=minutes // (24 * 60))
    if minutes % 60 == 0:
        return PluralText("%(count)s hour before", "%(count)s hours before", count=minutes // 60)
    return PluralText("%(count)s minute before", "%(count)s minutes before", count=minutes)
