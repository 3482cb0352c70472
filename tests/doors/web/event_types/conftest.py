"""The host of the dashboard's tests, with ways to read and send the form of an event type."""

import re
from html import unescape
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.support.host import book, clock, member, settings, stranger, user

__all__ = ["book", "clock", "member", "offer", "settings", "stranger", "user"]


@pytest.fixture
async def intro(runtime: Runtime, user: User) -> EventType:
    """The event type that every new host has."""
    found, _ = await event_types.list_event_types(runtime.work(OPERATOR), user)
    return found[0]


# Templates escape quotes and brackets in values, so that a tag ends at the first bracket.
FORM = re.compile(r'<form [^>]*id="offer".*?</form>', re.DOTALL)
TAG = re.compile(r"<(input|textarea|select|option)\b([^>]*)>([^<]*)")
ATTRIBUTE = re.compile(r'([a-z-]+)(?:="([^"]*)")?')


def read_fields(page: str) -> dict[str, str]:
    """Read what the form of a page would send, as a browser does."""
    values: dict[str, str] = {}
    choice = ""
    (form,) = FORM.findall(page)
    for tag, attributes, text in TAG.findall(form):
        given = {name: unescape(value) for name, value in ATTRIBUTE.findall(attributes)}
        name = given.get("name", "")
        if tag == "input" and (given.get("type") not in {"checkbox", "radio"} or "checked" in given):
            values[name] = given.get("value", "")
        elif tag == "textarea":
            values[name] = unescape(text).removeprefix("\n")
        elif tag == "select":
            choice, values[name] = name, ""
        elif tag == "option" and ("selected" in given or not values[choice]):
            values[choice] = given.get("value", unescape(text))
    return {name: value for name, value in values.items() if name and name != "csrf"}


def read_faults(page: str) -> dict[str, str]:
    """Read the faults that a page shows, by field."""
    return dict(re.findall(r'<p class="fault" id="fault-([^"]+)">([^<]*)</p>', page))


async def save(member: httpx2.AsyncClient, event_type: EventType, **changes: str) -> httpx2.Response:
    """Open the form, change some fields and send it."""
    fields = read_fields((await member.get(f"/event-types/{event_type.id}")).text)
    return await member.post(f"/event-types/{event_type.id}", data=fields | changes)


async def save_questions(member: httpx2.AsyncClient, event_type: EventType, **changes: str) -> httpx2.Response:
    """Open the page of the questions, change some fields and send them."""
    path = f"/event-types/{event_type.id}/questions"
    return await member.post(path, data=read_fields((await member.get(path)).text) | changes)


async def load(runtime: Runtime, owner: User, event_type: EventType) -> EventType:
    """Read an event type as it is saved."""
    return await event_types.get_event_type(runtime.work(OPERATOR), owner, event_type.id)


async def list_names(runtime: Runtime, owner: User) -> list[str]:
    """List a host's event types in their order."""
    found, _ = await event_types.list_event_types(runtime.work(OPERATOR), owner)
    return [each.name for each in found]


async def change(runtime: Runtime, event_type: EventType, **changes: Any) -> EventType:
    """Change an event type as another tab would."""
    async with runtime.transaction(OPERATOR) as work:
        return await event_types.change_event_type(work, replace(event_type, **changes))
