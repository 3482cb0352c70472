"""What webhooks refuse."""

from openslot.core.errors import Conflict, Invalid, NotFound


class WebhookNotFound(NotFound):
    """No such webhook endpoint, or it is another's."""

    code = "webhook_not_found"

    def __init__(self) -> None:
        super().__init__("Webhook endpoint not found")


class DeliveryNotFound(NotFound):
    """No such delivery, it is another's, or it is no longer kept."""

    code = "delivery_not_found"

    def __init__(self) -> None:
        super().__init__("Delivery not found; deliveries are kept for 30 days")


class EventExpired(Invalid):
    """The event to go on from is no longer in the feed, and others behind it may be gone too."""

    code = "event_expired"

    def __init__(self, days: int) -> None:
        super().__init__(
            "The feed no longer reaches back that far",
            details={"after": f"is not in the feed, which keeps events for {days} days; read it from its start"},
        )


class TooManyWebhooks(Conflict):
    """The user has as many webhook endpoints as one may have."""

    code = "too_many_webhooks"

    def __init__(self, most: int) -> None:
        super().__init__(f"There are {most} webhook endpoints already; delete one first")


class WebhookNotActive(Conflict):
    """A paused or switched-off webhook endpoint is sent nothing but tests."""

    code = "webhook_not_active"

    def __init__(self) -> None:
        super().__init__("This webhook endpoint is not active; resume it first")
