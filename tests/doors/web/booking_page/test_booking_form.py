"""The plain form of the booking page over HTTP: what it books, and what it says if it does not."""

import json
import re
from datetime import UTC, datetime

import httpx2

from openslot.app import create_app
from openslot.domains.accounts.models import User
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType, Money
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.doors.web.booking_page.conftest import DEPENDING, PAGE, TEN, book, filled, starts_in
from tests.doors.web.conftest import sign_in
from tests.support.clocks import MovingClock
from tests.support.live import connect, serving
from tests.support.page import read_page
from tests.support.private_tokens import get_private_token


async def test_a_form_books_and_leads_to_the_bookings_own_page(
    client: httpx2.AsyncClient, runtime: Runtime, asking: EventType
) -> None:
    typed = filled(guests="li@okafor.example, ana@okafor.example\r\nli@okafor.example")
    answers = {"answers.topic": "Pricing", "answers.team": "", "checks.agree": "on", "answers.phone": "+4930123456"}
    answer = await client.post("/mara/asking?lang=de&utm_source=x", data={**typed, **answers})

    assert answer.status_code == 303
    assert re.fullmatch(r"/manage/[\w-]{43}\?done=booked&lang=de&utm_source=x", answer.headers["location"])
    row = await runtime.pool.fetchrow("select * from bookings")
    assert row is not None
    assert row["starts_at"] == datetime(2026, 3, 16, 10, tzinfo=UTC)
    assert (row["invitee_name"], row["invitee_zone"], row["invitee_locale"]) == ("Jonas Okafor", "Africa/Lagos", "de")
    assert row["notes"] == "Pricing for a team of 12"
    assert list(row["guests"]) == ["li@okafor.example", "ana@okafor.example"]
    assert '"agree": true' in row["answers"] or '"agree":true' in row["answers"]
    assert "team" not in row["answers"]


async def test_questions_that_depend_on_answers_and_several_choices_work_without_scripts(
    client: httpx2.AsyncClient, runtime: Runtime, host: User
) -> None:
    await offer(runtime, host, "depending", questions=DEPENDING)
    page = await client.get("/mara/depending", params={"start": TEN, "days": "Friday, Monday", "terms": "true"})
    ticked = [name for name, field in read_page(page).fields.items() if field.value and name.startswith(("p", "c"))]
    assert ticked == ["picks.days.0", "picks.days.2"]
    assert "Only if the answer to “Which days suit you?” is: Friday" in read_page(page).text
    assert "Only if “I need a guide” is ticked" in read_page(page).text
    missing = await client.post("/mara/depending", data={**filled(), "picks.days.2": "Friday", "checks.terms": "on"})
    assert read_page(missing).faults["answers-why"] == "Is required"
    assert 'name="picks.days.2" value="Friday" checked' in missing.text
    typed = {"picks.days.0": "Monday", "picks.days.1": "Tuesday", "checks.terms": "on"}
    unasked = await client.post("/mara/depending", data={**filled(), **typed, "answers.why": "It is free"})
    assert read_page(unasked).faults["answers-why"] == "Is not asked with these answers"
    assert (await client.post("/mara/depending", data={**filled(), **typed})).status_code == 303

    stored = await runtime.pool.fetchval("select answers::jsonb from bookings")
    assert json.loads(stored) == {"days": ["Monday", "Tuesday"], "terms": True}


async def test_a_slot_that_was_just_taken_keeps_what_was_typed(client: httpx2.AsyncClient, intro: EventType) -> None:
    await book(client)
    answer = await client.post(PAGE, data=filled(name="Ana Ruiz", notes="Two\r\nlines"))

    assert answer.status_code == 409
    assert "This time was just taken" in read_page(answer).headings
    assert starts_in(answer.text) == ["2026-03-16T09:00:00Z", "2026-03-16T09:30:00Z", "2026-03-16T10:30:00Z"]
    first = answer.text.index("2026-03-16T09:00:00Z")
    assert "autofocus" in answer.text[first : first + 60]
    assert answer.text.count("autofocus") == 1
    assert read_page(answer).fields["name"].value == "Ana Ruiz"
    assert read_page(answer).fields["notes"].value == "Two\nlines"
    assert "10:30" in read_page(answer).text


async def test_a_time_that_is_none_is_treated_like_one_that_is_gone(
    client: httpx2.AsyncClient, intro: EventType
) -> None:
    answer = await client.post(PAGE, data=filled("2026-03-16T10:07:00Z"))

    assert answer.status_code == 400
    assert "This time was just taken" in read_page(answer).headings
    assert len(starts_in(answer.text)) == 3


async def test_every_fault_stands_at_its_field(client: httpx2.AsyncClient, asking: EventType) -> None:
    answer = await client.post("/mara/asking", data=filled(name="", email="nobody"))
    later = await client.post("/mara/asking", data={**filled(guests="nobody"), "answers.phone": "12"})

    assert answer.status_code == later.status_code == 400
    assert read_page(answer).faults["name"] == "Enter your name"
    assert read_page(answer).faults["email"] == "Is not a valid email address"
    assert answer.text.count("autofocus") == 1
    assert read_page(later).faults == {"guests": "Is not a valid email address"}
    answered = await client.post("/mara/asking", data={**filled(), "answers.phone": "12", "answers.team": "Many"})
    assert read_page(answered).faults["answers-phone"].startswith("Must begin with + and the country code")
    assert read_page(answered).faults["answers-team"] == "Must be one of Just me, Up to 10"
    assert read_page(answered).faults["answers-agree"] == "Is required"


async def test_a_form_without_a_time_shows_the_calendar(client: httpx2.AsyncClient, intro: EventType) -> None:
    answer = await client.post(PAGE, data=filled(""))

    assert answer.status_code == 400
    assert read_page(answer).notices == ["Choose a time"]
    assert len(starts_in(answer.text)) > 100


async def test_what_fills_in_every_field_books_nothing(
    client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    answer = await client.post(PAGE, data=filled(website="https://spam.example"))

    assert answer.status_code == 400
    assert read_page(answer).faults == {"website": "Must be empty"}
    assert await runtime.pool.fetchval("select count(*) from bookings") == 0


async def test_form_and_api_share_one_limit_and_the_form_says_when_to_come_back(
    settings: Settings, clock: MovingClock, intro: EventType
) -> None:
    async with serving(create_app(settings, clock=clock)) as base_url, connect(base_url) as client:
        body = {"eventTypeId": str(intro.id), "startTime": "2026-03-16T10:07:00Z", "inviteeName": "Li"}
        for _ in range(5):
            refused = await client.post("/api/bookings", json=body)
            assert refused.status_code == 400
        for hour in range(9, 14):
            await book(client, start=f"2026-03-16T{hour:02d}:00:00Z")
        answer = await client.post(PAGE, data=filled("2026-03-16T14:00:00Z", name="Ana Ruiz"))
        by_api = await client.post("/api/bookings", json=body)

    assert by_api.status_code == 429
    assert answer.status_code == 429
    assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert "Too many bookings were sent from your network" in read_page(answer).text
    assert re.search(r"Wait \d+ seconds?, then try again\.", answer.text)
    assert read_page(answer).fields["name"].value == "Ana Ruiz"


async def test_a_signed_in_host_books_like_anyone(
    client: httpx2.AsyncClient, runtime: Runtime, host: User, asking: EventType
) -> None:
    paid = await offer(runtime, host, "paid", price=Money(8000, "EUR"))
    assert (await sign_in(client, host.email)).status_code == 303
    unanswered = await client.post("/mara/asking", data=filled())
    unpaid = await client.post(f"/mara/{paid.slug}", data=filled())

    assert unanswered.status_code == 400
    assert unpaid.status_code == 503
    assert "payments are not set up" in read_page(unpaid).text


async def test_a_private_page_needs_its_token_in_every_step(
    client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        private = await event_types.make_event_type_private(work, intro)
        token = await get_private_token(work, private)
    page = await client.get(PAGE, params={"token": token})

    assert (await client.get(PAGE)).status_code == 404
    assert (await client.post(PAGE, data=filled())).status_code == 404
    assert f'<input type="hidden" name="token" value="{token}">' in page.text
    assert f'action="{PAGE}?token={token}"' in page.text
    assert (await client.post(f"{PAGE}?token={token}", data=filled())).status_code == 303


async def test_another_site_can_not_send_the_form(client: httpx2.AsyncClient, intro: EventType) -> None:
    answer = await client.post(PAGE, data=filled(), headers={"origin": "https://evil.example"})

    assert answer.status_code == 403
