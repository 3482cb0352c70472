"""What calendars refuse: by our own rules, or because of a calendar server's answer."""

from openslot.core.errors import Conflict, Invalid, NotFound, Refusal, RefusalKind
from openslot.i18n import Text
from openslot.integrations.calendars.failures import CHANGED, FORBIDDEN, GONE, SIGN_IN_REFUSED


class ConnectionNotFound(NotFound):
    """No such calendar connection, or it belongs to somebody else."""

    code = "calendar_connection_not_found"
    message = Text("Calendar connection not found")


class TooManyConnections(Conflict):
    """The user has reached the limit of calendar connections."""

    code = "too_many_calendars"

    def __init__(self, most: int) -> None:
        super().__init__(Text("There are %(most)s calendar connections already. Disconnect one first", most=most))


class NoSuchCalendar(Invalid):
    """The connection has no calendar of this name."""

    code = "calendar_unknown"

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


class CalendarFault(Refusal):
    """The calendar's server can't be reached, or fails."""

    code = "calendar_unreachable"
    kind = RefusalKind.INVALID


class CalendarUnreachable(CalendarFault):
    """The calendar's server can't be reached, or fails."""

    code = "calendar_unreachable"


class CalendarSignInFailed(CalendarFault):
    """The calendar's server refuses the name or the password."""

    code = "calendar_sign_in_failed"

    def __init__(self) -> None:
        super().__init__(SIGN_IN_REFUSED)


class CalendarForbidden(CalendarFault):
    """The calendar's server does not allow this account to do this."""

    code = "calendar_forbidden"

    def __init__(self) -> None:
        super().__init__(FORBIDDEN)


class CalendarUnreadable(CalendarFault):
    """What the server sent is not a calendar, or is too large."""

    code = "calendar_unreadable"


class CalendarGone(CalendarFault):
    """The server no longer has this calendar or this event."""

    code = "calendar_gone"

    def __init__(self) -> None:
        super().__init__(GONE)


class CalendarChanged(CalendarFault):
    """The event was changed on the server since it was read."""

    code = "calendar_event_changed"
    kind = RefusalKind.CONFLICT

    def __init__(self) -> None:
        super().__init__(CHANGED)
