"""No date is a 500 or takes a second: every parameter that takes one, at the edges of 1970 to 2200, beyond, and drawn.

All of them with OPENSLOT_LONG.
"""

import httpx2
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as fuzzing
from hypothesis import strategies as st

from openslot.domains.event_types.models import EventType
from tests.domains.bookings.conftest import Book
from tests.support.hangs import within_a_second
from tests.support.parts import LONG, how_many

DATES = [
    "0001-01-01", "1900-01-01", "1969-12-31", "1970-01-01", "1970-01-02", "2000-02-29", "2001-02-29", "2026-03-16",
    "2038-01-18", "2038-01-19", "2038-01-20", "2106-02-07", "2106-02-08", "2199-12-31", "2200-01-01", "2200-12-31",
    "2201-01-01", "9999-12-31", "10000-01-01", "99999-01-01", "-0001-01-01", "2026-13-01", "2026-00-00", "",
]  # fmt: skip
TIMES = ["T00:00:00Z", "T23:59:59.999999Z", "T09:00:00+14:00", "T09:00:00-12:00", "T24:00:00Z", "T"]
# Where an offset leads out of a range, or a date out of those that can be written.
EDGES = {"0001-01-01", "1970-01-01", "2038-01-19", "2200-12-31", "9999-12-31"}
MOMENTS = [f"{date}{time}" for date in DATES for time in (TIMES if LONG or date in EDGES else TIMES[:1])]
ZONES = ("UTC", "Pacific/Kiritimati", "Etc/GMT+12")


async def test_slots_of_any_day(client: httpx2.AsyncClient, bearer: dict[str, str], meeting: EventType) -> None:
    del meeting
    for first in DATES:
        for more in ({}, {"endDate": first}, {"endDate": "2200-12-31"}):
            for zone in ZONES if LONG or first in EDGES else ZONES[:1]:
                params = {"timezone": zone, "startDate": first, **more}
                with within_a_second(params):
                    answer = await client.get("/api/v1/availability/meeting", params=params, headers=bearer)
                assert answer.status_code in {200, 400}, (params, answer.text)


async def test_public_slots_of_any_day(client: httpx2.AsyncClient, meeting: EventType) -> None:
    del meeting
    for first in DATES:
        params = {"timezone": "UTC", "startDate": first}
        with within_a_second(params):
            answer = await client.get("/api/public/mara/meeting/slots", params=params)
        assert answer.status_code in {200, 400}, (params, answer.text)


@pytest.mark.rest("opens every page or sends every form")
@pytest.mark.parametrize("path", ["bookings", "conversations", "calls"])
async def test_lists_of_any_span(client: httpx2.AsyncClient, bearer: dict[str, str], path: str) -> None:
    for moment in [*DATES, *MOMENTS]:
        for params in ({"from": moment}, {"to": moment}):
            with within_a_second(params):
                answer = await client.get(f"/api/v1/{path}", params=params, headers=bearer)
            assert answer.status_code in {200, 400}, (params, answer.text)


async def test_bookings_holds_and_reschedules_at_any_moment(
    client: httpx2.AsyncClient, bearer: dict[str, str], meeting: EventType, book: Book
) -> None:
    made = (await book()).json()["bookingId"]
    for moment in MOMENTS:
        hold = {"eventTypeId": str(meeting.id), "startTime": moment}
        moved = {"newStartTime": moment}
        with within_a_second(moment):
            answers = [
                await book(moment),
                await client.post("/api/public/holds", json=hold),
                await client.patch(f"/api/v1/bookings/{made}/reschedule", json=moved, headers=bearer),
            ]
        assert {answer.status_code for answer in answers} <= {200, 400, 409, 429}, moment


zones = st.sampled_from([*ZONES, "Europe/Berlin", "+14:00", "utc", "Middle/Earth"]) | st.text(max_size=20)
days = st.dates().map(str) | st.sampled_from(DATES) | st.text(alphabet="0123456789-+:TZW. ", max_size=400)
offsets = st.sampled_from(["", "Z", "+14:00", "-23:59", "+99:99", "[Europe/Berlin]"])
moments = st.builds(lambda at, offset: at.isoformat() + offset, st.datetimes(), offsets) | days


@pytest.mark.rest("tries every character or thousands of inputs")
@fuzzing(
    max_examples=how_many(50, long=1000), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(span=st.tuples(days, days), zone=zones, moment=moments)
async def test_drawn_dates_are_read_or_refused(
    client: httpx2.AsyncClient,
    bearer: dict[str, str],
    meeting: EventType,
    span: tuple[str, str],
    zone: str,
    moment: str,
) -> None:
    params = {"timezone": zone, "startDate": span[0], "endDate": span[1]}
    hold = {"eventTypeId": str(meeting.id), "startTime": moment}
    with within_a_second((params, moment)):
        answers = [
            await client.get("/api/v1/availability/meeting", params=params, headers=bearer),
            await client.get("/api/v1/bookings", params={"from": moment, "to": span[1]}, headers=bearer),
            await client.post("/api/public/holds", json=hold),
        ]
    assert {answer.status_code for answer in answers} <= {200, 400, 409, 429}, [answer.text for answer in answers]


async def test_days_after_2038_are_as_good_as_any(
    client: httpx2.AsyncClient, bearer: dict[str, str], meeting: EventType, book: Book
) -> None:
    del meeting
    params = {"timezone": "UTC", "startDate": "2040-01-02", "endDate": "2040-01-08"}
    listed = await client.get("/api/v1/availability/meeting", params=params, headers=bearer)

    assert (listed.status_code, listed.json()["data"]) == (200, [])
    assert (await book("2040-01-02T10:00:00Z")).status_code == 409
