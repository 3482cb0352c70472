"""Manage links: one spelling each, and no other opens the booking."""

import string

import httpx2
import pytest

from openslot.domains.bookings.errors import BookingNotFound
from openslot.domains.bookings.links import manage_token, read_manage_token
from openslot.domains.event_types.models import EventType
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.support.bookings import public_body

LETTERS = string.ascii_letters + string.digits + "-_"


def other_spellings(token: str) -> list[str]:
    """Write a token in every way that a decoder of base64 may take for the same bytes."""
    ends = [token[:-1] + letter for letter in LETTERS if letter != token[-1]]
    standard = token.replace("-", "+").replace("_", "/")
    padded = [f"{token}=", f"{token}==", f"{token}===="]
    spaced = [f" {token}", f"{token} ", f"{token}\n", f"{token[:9]}\n{token[9:]}"]
    return [*ends, *({standard} - {token}), *padded, *spaced, token.upper(), token.lower(), ""]


def test_a_token_is_read_in_one_spelling_alone(runtime: Runtime) -> None:
    for _ in range(50):
        booking_id = new_id()
        token = manage_token(runtime, booking_id)
        assert read_manage_token(runtime, token) == booking_id
        for other in other_spellings(token):
            with pytest.raises(BookingNotFound):
                read_manage_token(runtime, other)


async def test_another_spelling_of_a_link_is_404(client: httpx2.AsyncClient, meeting: EventType) -> None:
    made = (await client.post("/api/bookings", json=public_body(meeting))).json()
    token = made["manageUrl"].rpartition("/")[2]
    path = "/api/public/manage/"

    assert (await client.get(f"{path}{token}")).status_code == 200
    for other in (f"{token}=", f"{token}%3D", token[:-1] + chr(ord(token[-1]) + 1), token.swapcase()):
        for answer in (await client.get(f"{path}{other}"), await client.post(f"{path}{other}/cancel")):
            assert answer.status_code == 404, other
    assert (await client.get(f"{path}{token}")).json()["status"] == "CONFIRMED"
