"""What is said of a booking that was changed."""

from openslot.doors.web.shared.handed_over import HANDED_OVER
from openslot.doors.web.shared.pages import MailNotice, Notices
from openslot.doors.web.shared.retries import NO_SHOW_NOTICES, RETRY_NOTICES
from openslot.platform.i18n import Text

NOTICES: Notices = {
    "booked": MailNotice(
        Text("The booking was created. The invitee will be notified by email."),
        Text("The booking was created. No mail server is set up, so nobody is notified."),
    ),
    "confirmed": MailNotice(
        Text("The request was confirmed. The invitee will be notified by email."),
        Text("The request was confirmed. No mail server is set up, so nobody is notified."),
    ),
    "answered": Text("Somebody else has confirmed this request already."),
    "moved": MailNotice(
        Text("The booking was rescheduled. Everyone will be notified by email."),
        Text("The booking was rescheduled. No mail server is set up, so nobody is notified."),
    ),
    "cancelled": MailNotice(
        Text("The booking was cancelled. Everyone will be notified by email."),
        Text("The booking was cancelled. No mail server is set up, so nobody is notified."),
    ),
    "handed-over": HANDED_OVER,
    **NO_SHOW_NOTICES,
    "noted": Text("Your private notes were saved."),
    **RETRY_NOTICES,
}
