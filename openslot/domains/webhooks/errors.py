"""What webhooks refuse."""

from openslot.platform.core.errors import Conflict, Invalid, NotFound
from openslot.platform.i18n import Text


class WebhookNotFound(NotFound):
    """No such webhook endpoint, or it belongs to somebody else."""

    code = "webhook_not_found"
    message = Text("Webhook endpoint not found")


class SecretRecentlyRotated(Conflict):
    """The secret was rotated within the last minute; rotating again would end the one that receivers still use."""

    code = "secret_recently_rotated"
    message = Text("This secret was rotated less than a minute ago. Use the new one, or try again later")


class DeliveryNotFound(NotFound):
    """No such delivery, it belongs to somebody else, or it is no longer stored."""

    code = "delivery_not_found"
    message = Text("Delivery not found. Deliveries are kept for 30 days")


class EventExpired(Invalid):
    """The event to continue after is no longer in the feed, and later ones may be gone too."""

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


class WebhookLimitExceeded(Conflict):
    """The user has reached the limit of webhook endpoints."""

    code = "webhook_limit_exceeded"

    def __init__(self, max_: int) -> None:
        super().__init__(Text("You already have %(max)s webhook endpoints. Delete one first", max=max_))


class WebhookNotActive(Conflict):
    """The webhook endpoint is paused or switched off; only tests are sent to it."""

    code = "webhook_not_active"
    message = Text("This webhook endpoint is not active. Resume it first")
