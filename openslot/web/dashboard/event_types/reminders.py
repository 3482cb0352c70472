"""When people are reminded of the meetings of one event type: times of its own, or those of all meetings."""

from msgspec import Struct

from openslot.accounts.models import User
from openslot.core.work import Work
from openslot.event_types.models import EventType
from openslot.i18n import Text
from openslot.integrations.mail import operations as mail
from openslot.routing import Form
from openslot.web.dashboard.notifications import format_before, list_times

OWN = "own"


class EventRemindersForm(Struct, frozen=True, kw_only=True):
    which: str = ""
    minutes: list[str] = []


class ShownReminders(Struct, frozen=True, kw_only=True):
    """What the section of an event type's reminders shows."""

    form: Form[EventRemindersForm]
    is_own: bool
    usual: list[Text]
    """The times of all other meetings."""
    times: list[tuple[int, Text, bool]]


async def show_reminders(
    work: Work, user: User, event_type: EventType, form: Form[EventRemindersForm]
) -> ShownReminders:
    own, usual = await mail.find_own_reminders(work, user.id, event_type.id)
    stored = usual if own is None else own
    sent = form.sent
    return ShownReminders(
        form=form,
        is_own=sent.which == OWN if sent else own is not None,
        usual=[format_before(each) for each in usual],
        times=list_times(stored, sent.minutes if sent else [str(each) for each in stored]),
    )
