"""What went wrong with a calendar's server, said at the field that can mend it, and what to do."""

from openslot.core.errors import Refusal
from openslot.i18n import Text
from openslot.integrations.calendars.errors import (
    CalendarForbidden,
    CalendarGone,
    CalendarSignInFailed,
    CalendarUnreadable,
)

SIGN_IN = str(CalendarSignInFailed())


def find_server_fault(refusal: Refusal) -> tuple[str, Text]:
    """Name the field of the form for a calendar server that is to be corrected, and its fault."""
    if isinstance(refusal, CalendarSignInFailed):
        return "password", Text("was refused, or the user name is wrong. Many providers need an app password here")
    if isinstance(refusal, CalendarForbidden):
        return "username", Text("has no access to calendars on this server")
    if isinstance(refusal, CalendarGone | CalendarUnreadable):
        return "address", Text("does not lead to any calendars (%(reason)s)", reason=refusal.sentence)
    return "address", Text("can't be used (%(reason)s)", reason=refusal.sentence)


def find_feed_fault(refusal: Refusal) -> Text:
    """Say what is wrong with the address of a feed."""
    if isinstance(refusal, CalendarSignInFailed):
        return Text("needs a password. Use the secret address of the calendar, which needs none")
    if isinstance(refusal, CalendarGone | CalendarUnreadable):
        return Text("does not lead to a calendar (%(reason)s)", reason=refusal.sentence)
    return Text("can't be used (%(reason)s)", reason=refusal.sentence)


def advise(error: str) -> Text:
    """Say what to do about the error that a connection was last read with."""
    if error == SIGN_IN:
        return Text("Enter the new password below. Many providers need an app password.")
    return Text("We'll retry automatically. If the problem persists, test the connection, or reconnect the calendar.")
