"""What availability refuses."""

from openslot.core.errors import Conflict, Invalid, NotFound, TooMany
from openslot.i18n import Text


class NotAStart(Invalid):
    """The time is not one at which this event type can start, or it is in the past."""

    code = "not_a_start"

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(details={field: Text("is not a start time of this event type (%(reason)s)", reason=reason)})


class TimeTaken(Conflict):
    """The time can't be booked now: it was taken, or a limit or the notice closes it."""

    code = "time_taken"
    message = Text("This time is no longer available")


class HoldNotFound(NotFound):
    """No such hold, or it has expired."""

    code = "hold_not_found"
    message = Text("Hold not found")


class TooManyHolds(TooMany):
    """The IP address, or the IPv6 network that it is in, has reached the limit of holds."""

    code = "too_many_holds"

    def __init__(self) -> None:
        super().__init__(Text("Too many slots are held from this address"), retry_after=60)


class DayIsHeld(TooMany):
    """So many times of the host's day are held that no other can be held now; it can be booked."""

    code = "day_is_held"

    def __init__(self, *, retry_after: int) -> None:
        super().__init__(Text("Too many times on this day are held"), retry_after=retry_after)


class HeldRecently(TooMany):
    """The IP address has held this time until a moment ago, or holds it; it can be booked."""

    code = "held_recently"

    def __init__(self, *, retry_after: int) -> None:
        super().__init__(Text("This time was held from this address a moment ago"), retry_after=retry_after)
