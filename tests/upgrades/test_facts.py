"""Facts that an older release has written are read by every later one."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import httpx2
import msgspec
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import (
    BusinessDaysWindow,
    Limits,
    Location,
    LocationKind,
    Money,
    Question,
    QuestionKind,
    RangeWindow,
)
from openslot.platform.core.events import Event
from openslot.platform.core.work import Runtime
from openslot.wiring import WIRING
from tests.domains.bookings.conftest import offer
from tests.upgrades.facts import KEPT, GoldenFact, load_facts

EVENTS = {event.type: event for event in WIRING.events}
SHAPES: dict[str, dict[str, Any]] = {
    "plain": {},
    "phone": {"location": Location(LocationKind.PHONE, "+493012345678"), "booking_window": BusinessDaysWindow(10)},
    "range": {
        "location": Location(LocationKind.IN_PERSON, "Main Street 1"),
        "booking_window": RangeWindow(date(2020, 1, 1), date(2099, 12, 31)),
        "limits": Limits(per_day=5, per_week=20),
    },
    "private": {"location": Location(LocationKind.VIDEO_LINK, "https://meet.example/a"), "is_private": True},
    "paid": {"price": Money(2500, "EUR"), "slot_interval_minutes": 15, "buffer_before": 5, "buffer_after": 10},
    "group": {"seats": 5, "description": "Everyone is welcome."},
    "asking": {
        "questions": (
            Question("topic", "What about?", QuestionKind.LONG_TEXT, required=True),
            Question("size", "How many?", QuestionKind.CHOICE, options=("few", "many")),
            Question("sure", "Sure?", QuestionKind.CHECKBOX),
        )
    },
}
ANSWERS = {"asking": {"topic": "Plans", "size": "few", "sure": True}}


GOLDEN = [
    pytest.param(path.stem, fact, id=f"{path.stem} {place}")
    for path in sorted(KEPT.glob("*.json"))
    for place, fact in enumerate(load_facts(path.stem), 1)
]


def names(value: object, path: str = "") -> Iterator[str]:
    """List the name of every field, however deep."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield f"{path}.{name}"
            yield from names(inner, f"{path}.{name}")


def read(event_type: str, fact: object) -> Event:
    return msgspec.json.decode(msgspec.json.encode(fact), type=EVENTS[event_type])


@pytest.mark.parametrize(("event_type", "kept"), GOLDEN)
def test_a_fact_of_an_older_release_is_read_and_told(event_type: str, kept: GoldenFact) -> None:
    told = msgspec.to_builtins(read(event_type, kept.fact).public())

    assert (told is None) == (kept.public is None)
    assert set(names(kept.public)) <= set(names(told))


@pytest.mark.parametrize("event", WIRING.events, ids=lambda event: event.type)
def test_every_event_has_a_golden_fact(event: type[Event]) -> None:
    assert load_facts(event.type), f"{event.type} has none yet: make record-facts TEST_ARGS=… with tests that cause it"


@pytest.mark.parametrize(("event_type", "kept"), GOLDEN)
def test_a_fact_of_a_newer_release_may_say_more(event_type: str, kept: GoldenFact) -> None:
    assert read(event_type, with_more(kept.fact)) == read(event_type, kept.fact)


def with_more(value: Any, name: str = "") -> Any:
    """Add a field that nobody knows wherever there are fields; answers are named by the host."""
    if isinstance(value, list):
        return [with_more(inner) for inner in value]
    if isinstance(value, dict) and name != "answers":
        return {"of_a_newer_release": {"deep": [1]}, **{each: with_more(value[each], each) for each in value}}
    return value


async def test_what_is_written_today_is_read_back_as_it_was(
    runtime: Runtime, user: User, client: httpx2.AsyncClient, bearer: dict[str, str]
) -> None:
    for slug, shape in SHAPES.items():
        await offer(runtime, user, slug, **shape)
        first, second = await open_starts(client, bearer, slug)
        made = await client.post(
            "/api/v1/bookings",
            json={
                "eventTypeSlug": slug,
                "startTime": first,
                "inviteeName": "Jonas Okafor",
                "inviteeEmail": f"{slug}@okafor.example",
                "inviteeTimezone": "Africa/Lagos",
                "notes": "A note",
                "answers": ANSWERS.get(slug, {}),
            },
            headers=bearer,
        )
        assert made.status_code == 200, made.text
        path = f"/api/v1/bookings/{made.json()['bookingId']}"
        moved = await client.patch(f"{path}/reschedule", json={"newStartTime": second}, headers=bearer)
        assert moved.status_code == 200, moved.text
        await runtime.pool.execute("delete from contacts where email like 'private@%'")
        assert (await client.post(f"{path}/cancel", headers=bearer)).status_code == 200

    rows = await runtime.pool.fetch("select type, fact, public from events")
    assert len(rows) >= 3 * len(SHAPES)
    for row in rows:
        event = read(row["type"], msgspec.json.decode(row["fact"]))
        told = msgspec.json.decode(msgspec.json.encode(event.public()))
        assert told == (msgspec.json.decode(row["public"]) if row["public"] else None)


async def open_starts(client: httpx2.AsyncClient, bearer: dict[str, str], slug: str) -> list[str]:
    today = datetime.now(UTC).date()
    params = {
        "timezone": "UTC",
        "startDate": str(today + timedelta(days=1)),
        "endDate": str(today + timedelta(days=8)),
    }
    answer = await client.get(f"/api/v1/availability/{slug}", params=params, headers=bearer)
    assert answer.status_code == 200, answer.text
    return [slot["startTime"] for slot in answer.json()["data"][:2]]
