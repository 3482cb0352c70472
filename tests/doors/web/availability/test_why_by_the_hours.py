"""Why a time is not offered if nothing but the usual hours counts."""

import httpx2
import pytest

from openslot.domains.schedules.models import Schedule
from tests.doors.web.availability.conftest import Ask
from tests.support.page import read_page

pytestmark = pytest.mark.reads_only


async def test_an_open_time_is_called_open_and_the_day_has_all_its_starts(ask: Ask) -> None:
    page = await ask()

    assert "This time can be booked." in page
    assert "16 of 16 starts can be booked." in page
    assert page.count("</svg>Open") == 17
    assert "curl" in page
    assert "/api/v1/availability/30min?timezone=Europe%2FBerlin&amp;startDate=2026-03-16" in page


async def test_a_day_alone_has_no_verdict_of_a_time(member: httpx2.AsyncClient) -> None:
    page = (await member.get("/availability/why")).text

    assert "16 of 16 starts can be booked." in page
    assert "This time can" not in page


async def test_hours_are_set_in_the_schedule(ask: Ask, schedule: Schedule) -> None:
    page = await ask(time="18:00")

    assert "This time can&#39;t be booked." in page
    assert "Outside hours: Monday, 16 March 2026 has 09:00–17:00" in page
    assert f'<a href="/availability/{schedule.id}">Change the hours</a>' in page
    assert "Outside hours: Saturday, 21 March 2026 has no hours" in await ask(day="2026-03-21")


async def test_the_past_has_nowhere_to_be_changed(ask: Ask) -> None:
    page = await ask(day="2026-03-13")

    assert "In the past" in page
    assert "Choose a start from 16 March 2026 08:00 on." in page


@pytest.mark.parametrize(
    ("query", "field"),
    [({"day": "x"}, "day"), ({"day": "9999-12-31"}, "day"), ({"time": "x"}, "time"), ({"time": "24:00"}, "time")],
)
async def test_what_cant_be_read_stands_at_its_field(
    member: httpx2.AsyncClient, query: dict[str, str], field: str
) -> None:
    page = await member.get("/availability/why", params=query)

    assert (page.status_code, field in read_page(page).faults) == (400, True)
