"""What is said of bookings that were handed over."""

from openslot.doors.web.shared.pages import MailNotice
from openslot.platform.i18n import Text

HANDED_OVER = MailNotice(
    Text("The booking was handed over. Everyone will be notified by email."),
    Text("The booking was handed over. No mail server is set up, so nobody is notified."),
)
REQUEST_HANDED_OVER = MailNotice(
    Text("The request was handed over. The new host is asked by email."),
    Text("The request was handed over. No mail server is set up, so nobody is notified."),
)
