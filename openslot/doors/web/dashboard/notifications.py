"""Pages: which mails a host gets, and what people are written before and after meetings."""

from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.mail.models import MailTopic
from openslot.domains.mail.operations import get_mail_topics, set_mail_topics
from openslot.domains.reminders.operations import get_reminders
from openslot.doors.web.dashboard.reminders import ALL, SAVED, list_entries
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Response, get, post

HERE = "/settings/notifications"
NOTICES = {"saved": Text("Your choice was saved."), "reminders": SAVED}
MEETINGS = {
    MailTopic.BOOKED: (Text("New booking"), Text("Someone has booked a time with you.")),
    MailTopic.RESCHEDULED: (Text("Booking rescheduled"), Text("A booking has a new time.")),
    MailTopic.CANCELLED: (Text("Booking cancelled"), Text("A booking will not take place.")),
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


class TopicsForm(Struct, frozen=True, kw_only=True):
    topics: list[str] = []


@get(HERE)
async def show_notifications(work: Work, user: User) -> Response:
    return page(
        "dashboard/notifications/notifications.html",
        user,
        here=HERE,
        notices=NOTICES,
        groups=[(Text("Meetings"), MEETINGS), (Text("Problems"), PROBLEMS)],
        topics=await get_mail_topics(work, user),
        entries=list_entries(await get_reminders(work, user.id)),
        scope=ALL,
    )


@post(HERE)
async def change_notifications(work: Work, user: User, form: Form[TopicsForm]) -> Response:
    """Choose which mails the host gets."""
    if form.sent is None:
        raise Invalid(details=form.faults)
    await set_mail_topics(work, user, frozenset(topic for topic in MailTopic if topic in form.sent.topics))
    return redirect(f"{HERE}?done=saved")
