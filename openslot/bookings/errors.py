"""What bookings refuse."""

from openslot.core.errors import Conflict, NotFound, RateLimited, Unavailable
from openslot.i18n import Text


class BookingNotFound(NotFound):
    """No such booking, or it belongs to somebody else."""

    code = "booking_not_found"
    message = Text("Booking not found")


class BookingAlreadyEnded(Conflict):
    """The meeting has taken place and can't be changed."""

    code = "booking_already_ended"
    message = Text("This booking is in the past")


class BookingAlreadyCancelled(Conflict):
    code = "booking_already_cancelled"
    message = Text("This booking is cancelled")


class BookingNotStarted(Conflict):
    """The meeting has not begun, so nobody can have missed it."""

    code = "booking_not_started"
    message = Text("This booking has not started yet")


class RescheduleLimitExceeded(RateLimited):
    """The booking was rescheduled by its manage link as often as that is possible in 24 hours."""

    code = "reschedule_limit_exceeded"

    def __init__(self, *, retry_after: int) -> None:
        super().__init__(Text("This booking was rescheduled too often today"), retry_after=retry_after)


class PaymentUnavailable(Unavailable):
    """The event type has a price, and this installation has no payment provider."""

    code = "payment_unavailable"

    def __init__(self) -> None:
        super().__init__(Text("This event type requires a payment, and payments are not set up"), retry_after=3600)
