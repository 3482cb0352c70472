"""What bookings refuse."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from openslot.domains.availability.errors import SlotUnavailable
from openslot.domains.bookings.models import Invitee
from openslot.domains.bookings.words import ListOfDates
from openslot.platform.core.errors import Conflict, Forbidden, Invalid, NotFound, RateLimited, Unavailable
from openslot.platform.i18n import CodedReason, Text


class BookingNotFound(NotFound):
    """No such booking, or it belongs to somebody else."""

    code = "booking_not_found"
    message = Text("Booking not found")


class BookingAlreadyEnded(Conflict):
    """The meeting has taken place and can't be changed."""

    code = "booking_already_ended"
    message: str = CodedReason("bookings.already_ended", "This booking is in the past")


class BookingAlreadyCancelled(Conflict):
    code = "booking_already_cancelled"
    message: str = CodedReason("bookings.already_cancelled", "This booking is cancelled")


class NoOtherHost(Conflict):
    """Nobody else of the team who could host the booking is free at its time."""

    code = "no_other_host"
    message = Text("No other host is free at this time")


class HostNotFree(Conflict):
    """The host who was named is not free at the booking's time, or is not in the group whose place it is."""

    code = "host_not_free"
    message = Text("This host is not free at this time")


class BookingNotStarted(Conflict):
    """The meeting has not begun, so nobody can have missed it."""

    code = "booking_not_started"
    message = Text("This booking has not started yet")


class RequestNotFound(NotFound):
    """No such request for a booking, or it belongs to somebody else."""

    code = "request_not_found"
    message = Text("Request not found")


class RequestNotOpen(Conflict):
    """The request was confirmed, declined or withdrawn, or has lapsed."""

    code = "request_not_open"
    message = Text("This request is no longer open")


class BookingNotConfirmed(Conflict):
    """The booking waits for its host or its payment, and its time can't be changed until then."""

    code = "booking_not_confirmed"
    message = Text("This booking is not confirmed yet")


class RescheduleByHostOnly(Conflict):
    """The host confirms each time of this event type, so invitees can't choose another one without asking."""

    code = "reschedule_by_host_only"
    message = Text("The host confirms each time: cancel this booking and request another time, or ask the host")


class RescheduleLimitExceeded(RateLimited):
    """The booking was rescheduled by its manage link as often as that is possible in 24 hours."""

    code = "reschedule_limit_exceeded"

    def __init__(self, *, retry_after: int) -> None:
        super().__init__(Text("This booking was rescheduled too often today"), retry_after=retry_after)


class InviteeLimitReached(Conflict):
    """The invitee's email address has as many upcoming bookings of this event type as it can have."""

    code = "invitee_limit_reached"
    message = Text("This email address has as many upcoming bookings of this event type as it can have")


class EmailVerificationRequired(Forbidden):
    """The host asks invitees to prove their email address; a code was sent to it."""

    code = "email_verification_required"
    message = Text("Enter the code that was sent to this email address")

    def __init__(self, event_type_id: UUID, invitee: Invitee, email_code: str | None, *, host_id: UUID) -> None:
        super().__init__()
        self.details = {"emailCode": "is required: it was sent to the email address of the invitee"}
        self.event_type_id, self.invitee, self.email_code = event_type_id, invitee, email_code
        self.host_id = host_id


class EmailCodeNotSent(EmailVerificationRequired):
    """The same, and no new code was sent, because enough were; `retry_after` tells when one can be."""

    retry_after: int
    message = Text(
        "No new code was sent, because the limit for this email address is reached: enter the last code, or ask later"
    )

    def __init__(self, refused: EmailVerificationRequired, wait: timedelta) -> None:
        super().__init__(refused.event_type_id, refused.invitee, refused.email_code, host_id=refused.host_id)
        self.details = {"emailCode": "is required: no new code was sent, because enough were; the last one may be used"}
        self.retry_after = -int(-wait.total_seconds() // 1)


class EmailCodeInvalid(Invalid):
    """The code is not one that was sent to this address for this event type, or can't be used any more."""

    code = "email_code_invalid"
    message = Text("The code from the email is not valid")

    def __init__(self) -> None:
        super().__init__(details={"emailCode": Text("is wrong, has expired, was used or was tried too often")})


class SeriesUnavailable(SlotUnavailable):
    """Some weeks of a series, or all of them, are not free, and nothing was booked."""

    code = "series_unavailable"
    message = Text("Not every week is free")

    def __init__(self, closed: Sequence[datetime], zone: str) -> None:
        dates = ListOfDates(tuple(closed), zone)
        super().__init__(details={"recurrence": Text("is not free on %(dates)s", dates=dates)})


class PaymentUnavailable(Unavailable):
    """The event type has a price, and this installation has no payment provider."""

    code = "payment_unavailable"

    def __init__(self) -> None:
        super().__init__(Text("This event type requires a payment, and payments are not set up"), retry_after=3600)
