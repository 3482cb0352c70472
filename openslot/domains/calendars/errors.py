"""What calendars refuse: by our own rules, or because of a calendar server's answer."""

from datetime import timedelta

from openslot.platform.core.errors import Conflict, Forbidden, Invalid, NotFound, Refusal, RefusalKind
from openslot.platform.i18n import CodedReason, Text

SIGN_IN_REFUSED = CodedReason(
    "calendars.sign_in_refused", "The calendar's server refuses the user name or the password"
)
FORBIDDEN = CodedReason("calendars.forbidden", "The calendar's server does not allow this account to do so")
GONE = CodedReason("calendars.gone", "The server no longer has this calendar")
CHANGED = CodedReason("calendars.changed", "The event was changed on the server since it was read")
MISSING = CodedReason("calendars.missing", "The server no longer has the calendar %(name)s")
SLOW = CodedReason("calendars.slow", "The calendar's server took too long")
STATUS = CodedReason("calendars.status", "The calendar's server returned %(status)s")
REDIRECTS_TOO_OFTEN = CodedReason("calendars.redirects_too_often", "The calendar's server sent too many redirects")
BAD_ADDRESS = CodedReason("calendars.bad_address", "The calendar's server returned an invalid URL")
NOT_CALDAV = CodedReason("calendars.not_caldav", "The calendar's server did not return a valid CalDAV response")
BAD_XML = CodedReason("calendars.bad_xml", "The calendar's server sent XML that can't be read")
NO_CALENDARS = CodedReason("calendars.no_calendars", "No calendars are found at this address")
TOO_LARGE = CodedReason("calendars.too_large", "The calendar has more than %(size)s megabytes")
TOO_MANY_EVENTS = CodedReason("calendars.too_many_events", "The calendar has more than %(count)s events")
FEED_STATUS = CodedReason("calendars.feed_status", "The feed's server returned %(status)s")
INCOMPLETE_FEED = CodedReason("calendars.incomplete_feed", "The feed's server returned an incomplete calendar")
TAKES_TOO_LONG = CodedReason(
    "calendars.takes_too_long",
    "The calendar takes too long to read: its events repeat too often, or there are too many",
)
CONSENT_NEEDED = CodedReason(
    "calendars.consent_needed", "Access to the calendar was revoked or has expired. Connect it again"
)
TOO_MANY_REQUESTS = CodedReason(
    "calendars.too_many_requests", "The calendar's server asks us to wait, because it got too many requests"
)
UNREADABLE_ANSWER = CodedReason(
    "calendars.unreadable_answer", "The calendar's server returned something that can't be read"
)
NO_MAILBOX = CodedReason("calendars.no_mailbox", "This account has no mailbox with a calendar at Microsoft")
NOT_ORGANIZER = CodedReason(
    "calendars.not_organizer",
    "Several people host this booking, and only its organizer can reschedule it in the calendar",
)
SEVERAL_HOSTS = CodedReason(
    "calendars.several_hosts", "Several people host this booking. Cancel it or hand it over on its page"
)
LONG_ZONES = CodedReason(
    "calendars.long_zones", "The calendar's time zones are too long to be kept with each of its events"
)
DISCONNECTED = CodedReason("calendars.disconnected", "the calendar is disconnected")


class ConnectionNotFound(NotFound):
    """No such calendar connection, or it belongs to somebody else."""

    code = "calendar_connection_not_found"
    message = Text("Calendar connection not found")


class TooManyConnections(Conflict):
    """The user has reached the limit of calendar connections."""

    code = "calendar_limit_exceeded"

    def __init__(self, max_: int) -> None:
        super().__init__(Text("There are %(max)s calendar connections already. Disconnect one first", max=max_))


class NoSuchCalendar(Invalid):
    code = "invalid_calendar"

    def __init__(self, field: str, name: str, known: list[str]) -> None:
        names = ", ".join(known)
        fault = (
            Text("must be one of the calendars %(names)s, not %(name)s", names=names, name=repr(name))
            if known
            else Text("can't be chosen, because the connection has no calendars")
        )
        super().__init__(details={field: fault})


class ReadOnlyCalendar(Conflict):
    """Nothing can be written into this calendar."""

    code = "calendar_read_only"

    def __init__(self, name: str) -> None:
        super().__init__(Text("Nothing can be written to the calendar %(name)s", name=name))


class OtherAccount(Conflict):
    """A consent was given again with another account than that of the connection."""

    code = "calendar_other_account"
    message = Text("You chose another account than the one that is connected. Nothing was changed")


class CalendarNoticeRefused(Forbidden):
    """A notice is not of a calendar's channel, or there is no such channel."""

    code = "calendar_notice_refused"
    message = Text("The notice is not valid")


class CalendarFault(Refusal):
    """The calendar's server can't be reached, or fails."""

    code = "calendar_unreachable"
    kind = RefusalKind.INVALID


class CalendarUnreachable(CalendarFault):
    """The calendar's server can't be reached, or fails."""

    code = "calendar_unreachable"


class CalendarBusy(CalendarUnreachable):
    """The calendar's server asks us to wait."""

    message = TOO_MANY_REQUESTS

    def __init__(self, after: timedelta | None = None) -> None:
        super().__init__()
        self.after = after


class CalendarSignInFailed(CalendarFault):
    """The calendar's server refuses the name or the password."""

    code = "calendar_sign_in_failed"
    message = SIGN_IN_REFUSED


class CalendarConsentNeeded(CalendarFault):
    """The owner has revoked the access, or it has expired."""

    code = "calendar_consent_needed"
    message = CONSENT_NEEDED


class CalendarForbidden(CalendarFault):
    """The calendar's server does not allow this account to do this."""

    code = "calendar_forbidden"
    message = FORBIDDEN


class CalendarUnreadable(CalendarFault):
    """What the server sent is not a calendar, or is too large."""

    code = "calendar_unreadable"
    message = UNREADABLE_ANSWER


class CalendarGone(CalendarFault):
    """The server no longer has this calendar or this event."""

    code = "calendar_deleted"
    message = GONE


class CalendarChanged(CalendarFault):
    """The event was changed on the server since it was read."""

    code = "calendar_event_changed"
    kind = RefusalKind.CONFLICT
    message = CHANGED
