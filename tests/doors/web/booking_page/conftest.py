"""A Monday morning in March 2026, a host in Berlin with three event types, and how to read their pages."""

import re
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from openslot.app import create_app
from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.accounts.plans import Plan
from openslot.domains.event_types.models import EventType, Location, LocationKind, Question, QuestionKind, ShowIf
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.support.clocks import MovingClock, clock
from tests.support.live import connect, serving

__all__ = ["clock"]

TEN = "2026-03-16T10:00:00Z"
PAGE = "/mara/intro-call"
VIDEO = Location(LocationKind.VIDEO_LINK, "https://meet.example/mara")
QUESTIONS = (
    Question("topic", "What would you like to talk about?", QuestionKind.LONG_TEXT),
    Question("team", "How large is your team?", QuestionKind.CHOICE, options=("Just me", "Up to 10")),
    Question("agree", "I have read the terms", QuestionKind.CHECKBOX, required=True),
    Question("phone", "Your phone number", QuestionKind.PHONE),
)
DEPENDING = (
    Question("days", "Which days suit you?", QuestionKind.CHOICES, options=("Monday", "Tuesday", "Friday")),
    Question("why", "Why Friday?", required=True, show_if=ShowIf("days", ("Friday",))),
    Question("guide", "I need a guide", QuestionKind.CHECKBOX),
    Question("language", "In which language?", QuestionKind.CHOICE, options=("en", "de"), show_if=ShowIf("guide")),
    Question("terms", "I agree to the terms", QuestionKind.CONSENT, required=True),
)
STARTS = re.compile(r'<(?:button|input)[^>]* name="start" value="([^"]+)"')


@pytest.fixture
async def client(settings: Settings, clock: MovingClock) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a server on the moving clock, which reads English."""
    app = create_app(replace(settings, limit_public=1000), clock=clock)
    async with serving(app) as base_url, connect(base_url, headers={"accept-language": "en"}) as opened:
        yield opened


@pytest.fixture
async def host(runtime: Runtime, password_hash: str) -> User:
    """A host in Berlin, who works from nine to five."""
    async with runtime.transaction(OPERATOR) as work:
        wanted = UserWanted(
            email="mara@lindqvist.example",
            name="Mara Lindqvist",
            username="mara",
            plan=Plan.PRO,
            zone="Europe/Berlin",
        )
        return await people.welcome_user(work, wanted, password_hash=password_hash)


@pytest.fixture
async def intro(runtime: Runtime, host: User) -> EventType:
    """A video call without questions."""
    description = "Half an hour to see whether we fit."
    return await offer(runtime, host, "intro-call", location=VIDEO, description=description)


@pytest.fixture
async def asking(runtime: Runtime, host: User) -> EventType:
    """A meeting with questions of every kind."""
    return await offer(runtime, host, "asking", questions=QUESTIONS)


@pytest.fixture
async def group(runtime: Runtime, host: User) -> EventType:
    """A meeting for three."""
    return await offer(runtime, host, "group", seats=3, location=Location(LocationKind.IN_PERSON, "Room 2"))


def starts_in(page: str) -> list[str]:
    """List the times that a page offers."""
    return [start for start in STARTS.findall(page) if start]


def filled(start: str = TEN, **changes: str) -> dict[str, str]:
    """Fill in the form of the booking page."""
    typed = {"start": start, "tz": "Africa/Lagos", "name": "Jonas Okafor", "email": "jonas@okafor.example"}
    return {**typed, "notes": "Pricing for a team of 12", "guests": "", "hold": "", "website": "", **changes}


async def book(client: httpx2.AsyncClient, page: str = PAGE, **changes: Any) -> str:
    """Book by the form, and return the path of the booking's own page."""
    answer = await client.post(page, data=filled(**changes))
    assert answer.status_code == 303, answer.text
    return answer.headers["location"].partition("?")[0]
