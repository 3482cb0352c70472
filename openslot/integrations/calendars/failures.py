"""What can go wrong with a calendar's server: stored in English, and shown in the reader's language."""

from openslot.core.outbound.errors import FAILURES as OUTBOUND_FAILURES
from openslot.core.outbound.errors import SENTENCES
from openslot.i18n import Text, recall

SIGN_IN_REFUSED = Text("The calendar's server refuses the user name or the password")
FORBIDDEN = Text("The calendar's server does not allow this account to do so")
GONE = Text("The server no longer has this calendar")
CHANGED = Text("The event was changed on the server since it was read")
MISSING = Text("The server no longer has the calendar %(name)s")
SLOW = Text("The calendar's server took too long")
STATUS = Text("The calendar's server returned %(status)s")
REDIRECTS_TOO_OFTEN = Text("The calendar's server sent too many redirects")
BAD_ADDRESS = Text("The calendar's server returned an invalid URL")
NOT_CALDAV = Text("The calendar's server did not return a valid CalDAV response")
BAD_XML = Text("The calendar's server sent XML that can't be read")
NO_CALENDARS = Text("No calendars are found at this address")
TOO_LARGE = Text("The calendar has more than %(size)s megabytes")
TOO_MANY_EVENTS = Text("The calendar has more than %(count)s events")
FEED_STATUS = Text("The feed's server returned %(status)s")
INCOMPLETE_FEED = Text("The feed's server returned an incomplete calendar")
LONG_ZONES = Text("The feed's time zones are too long to be kept with each of its events")
OWN = (
    SIGN_IN_REFUSED,
    FORBIDDEN,
    GONE,
    CHANGED,
    MISSING,
    SLOW,
    STATUS,
    REDIRECTS_TOO_OFTEN,
    BAD_ADDRESS,
    NOT_CALDAV,
    BAD_XML,
    NO_CALENDARS,
    TOO_LARGE,
    TOO_MANY_EVENTS,
    FEED_STATUS,
    INCOMPLETE_FEED,
    LONG_ZONES,
    *SENTENCES.values(),
    *OUTBOUND_FAILURES,
)


def show_failure(failure: str) -> str:
    """Return a stored failure as a text that can be translated."""
    return recall(failure, OWN)
