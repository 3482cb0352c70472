"""Handlers with everything that later operations may bring, and schemas beyond what our types make."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from msgspec import Meta, Struct

from openslot.domains.accounts.models import User
from openslot.platform.core.text import EmailAddress
from openslot.platform.routing import Mount, Query, delete, get, patch, post


class Status(StrEnum):
    """How a booking stands."""

    CONFIRMED = "CONFIRMED"
    CANCELLED = "CANCELLED"


class Contact(Struct, frozen=True, kw_only=True):
    """Who books."""

    name: Annotated[str, Meta(min_length=1, max_length=200)]
    tags: Annotated[list[str], Meta(max_length=20)] = []
    email: EmailAddress | None = None


class Booking(Struct, frozen=True, kw_only=True, rename="camel"):
    """What was booked."""

    id: UUID
    status: Status
    start_time: Annotated[datetime, Meta(description="When it begins, as `Z`")]
    contact: Annotated[Contact | None, Meta(description="Who booked")] = None
    answers: dict[str, str] = {}
    previous: "Booking | None" = None


class Move(Struct, frozen=True, tag="move", tag_field="kind"):
    """Another time."""

    to: datetime


class Stop(Struct, frozen=True, tag="stop", tag_field="kind"):
    """No time at all."""


class Wanted(Struct, frozen=True, kw_only=True, rename="camel"):
    """What shall be booked."""

    event_type: Annotated[str, Meta(examples=["it's-a-call"])]
    invitee: Contact
    page: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    anything: Any = None


@get("/bookings", tag="Bookings", summary="List bookings")
async def list_bookings(
    user: User, search_for: Annotated[str, Query("searchFor")], status: Annotated[Status | None, Query()] = None
) -> list[Booking]:
    """List all."""
    raise NotImplementedError


@post("/bookings", tag="Bookings", operation_id="book")
async def book(user: User, data: Wanted) -> Booking:
    """Book. A sentence that is no part of the summary."""
    raise NotImplementedError


@patch("/bookings/{booking_id}", tag="More")
async def change_booking(booking_id: UUID, data: Move | Stop) -> Booking:
    """Change it."""
    raise NotImplementedError


@delete("/bookings/{booking_id}", tag="More")
async def remove_booking(booking_id: UUID) -> Booking:
    """Remove it."""
    raise NotImplementedError


MOUNTS = (
    Mount(prefix="/api/v1", handlers=[list_bookings, book]),
    Mount(prefix="/api/public", handlers=[change_booking, remove_booking]),
)


def ref(name: str) -> dict[str, str]:
    """Refer to a schema."""
    return {"$ref": f"#/components/schemas/{name}"}


SCHEMAS: dict[str, Any] = {
    "Status": {"type": "string", "enum": ["CONFIRMED", "CANCELLED"]},
    "Contact": {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string", "minLength": 1}, "tags": {"type": "array", "maxItems": 20}},
    },
    "Joined": {"allOf": [ref("Contact"), {"properties": {"email": {"type": "string", "format": "email"}}}]},
}
