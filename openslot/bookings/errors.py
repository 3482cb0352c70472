"""What bookings refuse."""

from openslot.core.errors import Conflict, NotFound, TooMany, Unavailable
from openslot.i18n import Text


class BookingNotFound(NotFound):
    """No such booking, or it belongs to somebody else."""

    code = "booking_not_found"
    message = Text("Booking not found")


class BookingIsOver(Conflict):
    """The meeting has taken place and can't be changed."""

    code = "booking_is_over"
    message = Text("This booking is in the past")


class BookingIsCancelled(Conflict):
    code = "booking_is_cancelled"
    message = Text("This booking is cancelled")


class TooManyReschedules(TooMany):
    """The booking was rescheduled by its manage link as often as that is possible in 24 hours."""

    code = "too_many_reschedules"

    def __init__(self, *, retry_after: int) -> None:
        super().__init__(Text("This booking was rescheduled too often today"), retry_after=retry_after)


class PaymentUnavailable(Unavailable):
    """The event type has a price, and this installation has no payment provider."""

    code = "payment_unavailable"

    def __init__(self) -> None:
        super().__init__(Text("This event type requires a payment, and payments are not set up"), retry_after=3600)
