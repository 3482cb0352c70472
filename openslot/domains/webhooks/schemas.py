"""The wire shapes of webhooks: what endpoints read, what the feed answers, and which events there are."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import Meta, Raw, Struct
from msgspec.structs import replace

from openslot.domains.bookings.events import BookingCancelled, BookingCreated, BookingReassigned, BookingRescheduled
from openslot.domains.bookings.links import fill_manage_url
from openslot.domains.bookings.schemas import ReassignedBooking, RescheduledBooking, ShownBooking
from openslot.domains.contacts.events import ContactCreated
from openslot.domains.contacts.schemas import DetailedContact
from openslot.domains.payments.events import PaymentReceived
from openslot.domains.payments.schemas import ShownPayment
from openslot.domains.webhooks.models import PastEvent
from openslot.platform.core.events import Event
from openslot.platform.core.times import Instant, iso
from openslot.platform.core.work import Runtime
from openslot.platform.routing import Webhook

_ID = "01997c2e-6a52-7c1e-9d0a-3f4b5c6d7eb1"


class Published(Struct, frozen=True):
    """An event that the world is told of, the shape of its `data`, and what fills in that which is never kept."""

    event: type[Event]
    data: type[Struct]
    fill: Callable[[Runtime, UUID, bytes], bytes] | None = None
    by_name: bool = False
    """Whether it came later, and is sent only to endpoints that have chosen it by name."""


PUBLISHED = (
    Published(BookingCreated, ShownBooking, fill_manage_url),
    Published(BookingCancelled, ShownBooking, fill_manage_url),
    Published(BookingRescheduled, RescheduledBooking, fill_manage_url),
    Published(BookingReassigned, ReassignedBooking, fill_manage_url, by_name=True),
    Published(ContactCreated, DetailedContact),
    Published(PaymentReceived, ShownPayment),
)
PUBLISHED_TYPES = tuple(one.event.type for one in PUBLISHED)
_FILL = {one.event.type: one.fill for one in PUBLISHED if one.fill}
_ANY_PUBLISHED = [
    {"$ref": f"#/components/schemas/{name}"} for name in dict.fromkeys(one.data.__name__ for one in PUBLISHED)
]


class ShownEvent(Struct, frozen=True, kw_only=True, rename="camel"):
    """An event, as webhooks send it and the feed lists it."""

    id: Annotated[str, Meta(description="Same as the header `webhook-id`", examples=[_ID])]
    type: Annotated[str, Meta(examples=["booking.created"])]
    created_at: Instant
    data: Annotated[
        Raw,
        Meta(description="The resource as it was when the event happened", extra_json_schema={"anyOf": _ANY_PUBLISHED}),
    ]


class Feed(Struct, frozen=True, kw_only=True, rename="camel"):
    """Past events, oldest first."""

    data: list[ShownEvent]
    next: Annotated[
        str | None,
        Meta(
            description="Pass it as `after` to continue, now or later; null if there are no events yet", examples=[_ID]
        ),
    ]
    has_more: Annotated[bool, Meta(description="Whether there are more events to read now", examples=[False])]


class TestData(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a test says."""

    __test__ = False
    webhook_id: Annotated[str, Meta(description="The endpoint's id", examples=[_ID])]
    message: Annotated[str, Meta(examples=["It works: this endpoint can be reached."])] = (
        "It works: this endpoint can be reached."
    )


def complete(runtime: Runtime, event: PastEvent) -> PastEvent:
    """Fill in what is made when an event is shown or sent, and never kept."""
    fill = _FILL.get(event.type)
    if fill is None:
        return event
    subject_id = UUID(event.subject.partition(":")[2])
    return replace(event, data=Raw(fill(runtime, subject_id, bytes(event.data))))


def show_event(event: PastEvent) -> ShownEvent:
    return ShownEvent(id=str(event.id), type=event.type, created_at=iso(event.at), data=event.data)


def write_body(event: PastEvent) -> bytes:
    return msgspec.json.encode(show_event(event))


def write_test_event(event_id: UUID, event_type: str, at: datetime, *, endpoint_id: UUID) -> PastEvent:
    data = Raw(msgspec.json.encode(TestData(webhook_id=str(endpoint_id))))
    return PastEvent(id=event_id, type=event_type, at=at, data=data, subject=f"webhook:{endpoint_id}")


HEADERS = {
    "webhook-id": "The event's id, the same for every attempt and every endpoint",
    "webhook-timestamp": "When this attempt was made, in seconds since 1970",
    "webhook-signature": "`v1,` and the base64 of the HMAC-SHA256 of id, timestamp and body, joined by dots; two, "
    "separated by a space, while the secret is being rotated",
}
EXAMPLES = {
    "webhook-id": "01997c2e-6a52-7c1e-9d0a-3f4b5c6d7eb1",
    "webhook-timestamp": "1773651600",
    "webhook-signature": "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
}
ANSWERS = {
    "2XX": {"description": "Accepted"},
    "410": {"description": "Gone: the endpoint is deactivated"},
    "default": {
        "description": "Failed, including redirects: retried, 10 attempts in total over 75 hours and 35 minutes"
    },
}


def _describe(published: Published, data: dict[str, Any]) -> dict[str, Any]:
    kind = published.event.type
    body = {
        "type": "object",
        "required": ["id", "type", "createdAt", "data"],
        "properties": {
            "id": {"type": "string", "examples": [EXAMPLES["webhook-id"]]},
            "type": {"type": "string", "const": kind},
            "createdAt": msgspec.json.schema(Instant),
            "data": data,
        },
    }
    headers = [
        {"name": name, "in": "header", "required": True, "description": words, "schema": _text(EXAMPLES[name])}
        for name, words in HEADERS.items()
    ]
    return {
        "tags": ["Events"],
        "summary": kind,
        "operationId": f"on{''.join(part.title() for part in kind.split('.'))}",
        "description": (published.event.__doc__ or "").strip(),
        "parameters": headers,
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": ANSWERS,
    }


def _text(example: str) -> dict[str, Any]:
    return {"type": "string", "examples": [example]}


WEBHOOKS = tuple(Webhook(name=one.event.type, data=one.data, describe=partial(_describe, one)) for one in PUBLISHED)
