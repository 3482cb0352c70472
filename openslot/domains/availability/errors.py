"""What availability refuses."""

from openslot.platform.core.errors import Conflict, Invalid, NotFound, RateLimited
from openslot.platform.i18n import CodedReason, Text


class InvalidStartTime(Invalid):
    """The time is not one at which this event type can start, or it is in the past."""

    code = "invalid_start_time"

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(details={field: Text("is not a start time of this event type (%(reason)s)", reason=reason)})


class SlotUnavailable(Conflict):
    """The time can't be booked now: it was taken, or a limit or the notice closes it."""

    code = "slot_unavailable"
    message: str = CodedReason("availability.slot_unavailable", "This time is no longer available")


class HoldNotFound(NotFound):
    """No such hold, or it has expired."""

    code = "hold_not_found"
    message = Text("Hold not found")


class HoldLimitExceeded(RateLimited):
    """The IP address, or the IPv6 network that it is in, has reached the limit of holds."""

    code = "hold_limit_exceeded"

    def __init__(self) -> None:
        super().__init__(Text("Too many slots are held from this address"), retry_after=60)


class DayHoldLimitExceeded(RateLimited):
    """So many times of the host's day are held, unpaid or requested that no other can be now."""

    code = "day_hold_limit_exceeded"

    def __init__(self, *, retry_after: int) -> None:
        super().__init__(
            Text("Too many times on this day are taken and not confirmed yet: choose another day, or try again later"),
            retry_after=retry_after,
        )


class SlotRecentlyHeld(RateLimited):
    """The IP address has held this time until a moment ago, or holds it; it can be booked."""

    code = "slot_recently_held"

    def __init__(self, *, retry_after: int) -> None:
        super().__init__(Text("This time was held from this address a moment ago"), retry_after=retry_after)
