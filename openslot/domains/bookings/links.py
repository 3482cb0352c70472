"""Manage links: signed, so that anyone who has the link may change that one booking without signing in."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

import msgspec

from openslot.domains.bookings.errors import BookingNotFound
from openslot.platform.core.errors import require
from openslot.platform.core.ids import find_signed_id, sign_id, sign_ids
from openslot.platform.core.work import Runtime

PURPOSE = "manage link"
PAGE = "/manage/"


def manage_url(runtime: Runtime, booking_id: UUID) -> str:
    return list_manage_urls(runtime, [booking_id])[0]


def list_manage_urls(runtime: Runtime, booking_ids: Iterable[UUID]) -> list[str]:
    begin = begin_manage_url(runtime.settings.public_url)
    return [f"{begin}{token}" for token in sign_ids(runtime.signer, PURPOSE, booking_ids)]


def begin_manage_url(base_url: str) -> str:
    """Write the part of a link that is not secret and the same for every booking."""
    return f"{base_url}{PAGE}"


def calendar_url(runtime: Runtime, booking_id: UUID) -> str:
    return f"{manage_url(runtime, booking_id)}/calendar.ics"


def booking_url(runtime: Runtime, booking_id: UUID) -> str:
    return f"{runtime.settings.public_url}/bookings/{booking_id}"


def request_url(runtime: Runtime, booking_id: UUID) -> str:
    """Write where the host answers a request; who opens it must sign in, and opening it changes nothing."""
    return f"{runtime.settings.public_url}/bookings/requests/{booking_id}"


def fill_manage_url(runtime: Runtime, booking_id: UUID, shown: bytes) -> bytes:
    """Write the token at the end of the link in the JSON that was kept of a booking; the rest stays as it is."""
    fields = msgspec.json.decode(shown, type=dict[str, Any])
    base_url, _, _ = fields["manageUrl"].rpartition(PAGE)
    return msgspec.json.encode({**fields, "manageUrl": begin_manage_url(base_url) + manage_token(runtime, booking_id)})


def manage_token(runtime: Runtime, booking_id: UUID) -> str:
    return sign_id(runtime.signer, PURPOSE, booking_id)


def read_manage_token(runtime: Runtime, token: str) -> UUID:
    """Read a booking's id from a token that we have signed, accepting only the spelling that we give it."""
    return require(find_signed_id(runtime.signer, PURPOSE, token), BookingNotFound)
