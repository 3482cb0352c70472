"""Pages: which mails a host gets, and when people are reminded of meetings."""

from msgspec import Struct

from openslot.accounts.models import User
from openslot.core.errors import Invalid
from openslot.core.work import Work
from openslot.i18n import PluralText, Text
from openslot.integrations.mail import operations as mail
from openslot.integrations.mail.models import MailTopic
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
# In minutes before a meeting; what was chosen otherwise is offered beside them.
USUAL = (7 * 24 * 60, 2 * 24 * 60, 24 * 60, 4 * 60, 2 * 60, 60, 30, 15)
WRONG = Text("must be one of these times")


class TopicsForm(Struct, frozen=True, kw_only=True):
    topics: list[str] = []


class RemindersForm(Struct, frozen=True, kw_only=True):
    minutes: list[str] = []


@get(HERE)
async def show_notifications(work: Work, user: User, form: Form[RemindersForm] = Form()) -> Response:
    stored = await mail.get_reminders(work, user.id)
    typed = form.sent.minutes if form.sent else [str(each) for each in stored]
    return page(
        "dashboard/notifications/notifications.html",
        user,
        here=HERE,
        notices=NOTICES,
        groups=[(Text("Meetings"), MEETINGS), (Text("Problems"), PROBLEMS)],
        topics=await mail.get_topics(work, user),
        form=form,
        reminders=list_times(stored, typed),
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
    await mail.set_reminders(work, user, None, read_minutes(form.get().minutes))
    return redirect(f"{HERE}?done=reminders")


def read_minutes(sent: list[str]) -> tuple[int, ...]:
    if not all(each.isascii() and each.isdecimal() and len(each) < 7 for each in sent):
        raise Invalid(details={"minutes": WRONG})
    return tuple(int(each) for each in sent)


def list_times(stored: tuple[int, ...], typed: list[str]) -> list[tuple[int, Text, bool]]:
    """List the times to choose from, earliest first, with those that are chosen."""
    return [(each, format_before(each), str(each) in typed) for each in sorted({*USUAL, *stored}, reverse=True)]


def format_before(minutes: int) -> Text:
    if minutes % (24 * 60) == 0:
        return PluralText("%(count)s day before", "%(count)s days before", count=minutes // (24 * 60))
    if minutes % 60 == 0:
        return PluralText("%(count)s hour before", "%(count)s hours before", count=minutes // 60)
    return PluralText("%(count)s minute before", "%(count)s minutes before", count=minutes)
