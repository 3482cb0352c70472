"""What happened to webhook endpoints."""

from typing import ClassVar
from uuid import UUID

from openslot.platform.core.events import Event


class WebhookEvent(Event, frozen=True, kw_only=True):
    """Something happened to a webhook endpoint."""

    endpoint_id: UUID
    owner_id: UUID

    @property
    def tenant_id(self) -> UUID | None:
        return self.owner_id

    @property
    def subject(self) -> tuple[str, UUID | None]:
        return "webhook", self.endpoint_id


class WebhookTested(WebhookEvent, frozen=True, kw_only=True):
    """A test was sent to one webhook endpoint; it is not sent to other endpoints and is not in the feed."""

    type: ClassVar[str] = "webhook.test"


class WebhookDisabled(WebhookEvent, frozen=True, kw_only=True):
    """A webhook endpoint was switched off because it is gone or has failed for too long; its owner will be notified."""

    type: ClassVar[str] = "webhook.disabled"
    url: str
    reason: str


WEBHOOK_EVENTS: tuple[type[Event], ...] = (WebhookTested, WebhookDisabled)
