"""What payments refuse."""

from openslot.domains.bookings.errors import PaymentUnavailable
from openslot.platform.core.errors import Conflict, Forbidden, Invalid, NotFound, Unavailable
from openslot.platform.i18n import Text


class PaymentsNotConnected(NotFound):
    """There is no such connection to a payment provider, or it was disconnected."""

    code = "payment_connection_not_found"
    message = Text("Payments are not connected")


class PaymentNotFound(NotFound):
    """No such payment, or it belongs to somebody else."""

    code = "payment_not_found"
    message = Text("Payment not found")


class RefundNotPossible(Conflict):
    """Nothing was paid, or everything has gone back already."""

    code = "refund_not_possible"
    message = Text("There is nothing left to refund")


class RefundNotAllowed(Forbidden):
    """The money went to the account of an organization to which the host does not belong any more."""

    code = "refund_not_allowed"
    message = Text("The payment went to the account of an organization that you are not a member of")


class RefundsChanged(RefundNotPossible):
    """Something was refunded since the form was opened: whoever sends it twice means it once."""

    message = Text("A refund was requested meanwhile, so nothing more is refunded. Check what is left")


class CheckoutNotOpened(PaymentUnavailable):
    """The payment provider did not open a checkout; nothing was booked."""

    def __init__(self) -> None:
        Unavailable.__init__(self, Text("The payment provider can't be reached right now"), retry_after=60)


class CheckoutNotPossible(PaymentUnavailable):
    """The payment provider refuses what is to be paid; nothing was booked, and trying again does not help."""

    def __init__(self) -> None:
        Unavailable.__init__(
            self,
            Text("This can't be booked right now: the payment provider refuses the price. The host has been notified"),
            retry_after=3600,
        )


class PaymentProcessing(Conflict):
    """The money is on its way and can't be stopped; when it has come, the booking can be cancelled."""

    code = "payment_processing"
    message = Text("The payment is being processed. The booking can be cancelled when that is done")


class PaymentConnectionChanged(Conflict):
    """Another account was connected or disconnected at the same time."""

    code = "payment_connection_changed"
    message = Text("Another account was connected or disconnected meanwhile. Try again")


class FollowingChanged(PaymentConnectionChanged):
    """Event types that follow to another account were changed since it was asked whether they may."""

    message = Text("Event types were changed meanwhile, so the account was not replaced. Try again")


class PaymentsUnderWay(Conflict):
    """Somebody is paying through the account that is connected, so it can't be replaced or disconnected yet."""

    code = "payments_under_way"
    message = Text("Somebody is paying through the connected account right now. Try again later")


class InvalidNotice(Invalid):
    """A payment provider's notice has no valid signature, is too old, or is not for this account."""

    code = "invalid_payment_notice"
    message = Text("The notice is not valid")


class PlanNotSold(NotFound):
    """The plan can't be subscribed to here."""

    code = "plan_not_sold"
    message = Text("This plan can't be subscribed to")


class AlreadySubscribed(Conflict):
    """There is a subscription, which is changed in the billing portal."""

    code = "already_subscribed"
    message = Text("There is already a subscription. Change it under “Manage billing”.")


class PlanSetByAdministrator(Conflict):
    """An administrator has decided the plan: a subscription would change nothing."""

    code = "plan_set_by_administrator"
    message = Text("The plan was set by an administrator of this service. A subscription would not change it.")


class BillingUnavailable(Unavailable):
    """The payment provider does not answer, or refuses."""

    code = "billing_unavailable"
    message = Text("The payment provider does not answer right now. Try again in a few minutes.")
