"""What webhooks refuse."""

from openslot.core.errors import Conflict, Invalid, NotFound
from openslot.i18n import Text


class WebhookNotFound(NotFound):
    """No such webhook endpoint, or it is another's."""

    code = "webhook_not_found"

    def __init__(self) -> None:
        super().__init__(Text("Webhook endpoint not found"))


class SecretJustRotated(Conflict):
    """The secret was rotated within the last minute; again would end the one that receivers still have."""

    code = "secret_just_rotated"

    def __init__(self) -> None:
        super().__init__(Text("This secret was rotated less than a minute ago. Use the new one, or try again later"))


class DeliveryNotFound(NotFound):
    """No such delivery, it is another's, or it is no longer kept."""

    code = "delivery_not_found"

    def __init__(self) -> None:
        super().__init__(Text("Delivery not found. Deliveries are kept for 30 days"))


class EventExpired(Invalid):
    """The event to go on from is no longer in the feed, and others behind it may be gone too."""

    code = "event_expired"

    def __init__(self, days: int) -> None:
        super().__init__(
            Text("This event is no longer in the feed"),
            details={
                "after": Text(
                    "is no longer in the feed, which keeps events for %(days)s days. Read the feed from its start",
                    days=days,
                )
            },
        )


class TooManyWebhooks(Conflict):
    """The user has as many webhook endpoints as one may have."""

    code = "too_many_webhooks"

    def __init__(self, most: int) -> None:
        super().__init__(Text("You already have %(most)s webhook endpoints. Delete one first", most=most))


class WebhookNotActive(Conflict):
    """A paused or switched-off webhook endpoint is sent nothing but tests."""

    code = "webhook_not_active"

    def __init__(self) -> None:
        super().__init__(Text("This webhook endpoint is not active. Resume it first"))
