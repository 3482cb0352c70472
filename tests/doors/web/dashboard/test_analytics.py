"""A host's figures: equal to a count by hand, across a clock change, the end of a month and days without anything."""

import csv
import re
from datetime import UTC, date, datetime, timedelta
from io import StringIO

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.analytics.models import HostFigures, HostPeriod
from openslot.domains.analytics.operations import read_figures
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.clocks import MovingClock
from tests.support.host import TEN, TWELVE, Book, cancel
from tests.support.page import read_page

COUNT = """
select count(*) from bookings where host_id = $1 and {condition}
and ({moment} at time zone 'Europe/Berlin')::date between $2 and $3"""
CONDITIONS = {
    "made": ("true", "created_at"),
    "kept": ("status = 'CONFIRMED'", "starts_at"),
    "cancelled": ("status = 'CANCELLED'", "starts_at"),
    "no_shows": ("status = 'CONFIRMED' and no_show", "starts_at"),
}
# Around the change to summer time on 29 March 2026, and the end of that month.
STARTS = [
    datetime(2026, 3, 28, 22, 59, tzinfo=UTC),
    datetime(2026, 3, 28, 23, 0, tzinfo=UTC),
    datetime(2026, 3, 29, 0, 59, tzinfo=UTC),
    datetime(2026, 3, 29, 1, 0, tzinfo=UTC),
    datetime(2026, 3, 29, 21, 59, tzinfo=UTC),
    datetime(2026, 3, 29, 22, 0, tzinfo=UTC),
    datetime(2026, 3, 31, 21, 59, tzinfo=UTC),
    datetime(2026, 3, 31, 22, 0, tzinfo=UTC),
]


async def fill(runtime: Runtime, book: Book) -> None:
    """Copy a booking to these starts, each made two days before and every third one cancelled."""
    booking = await book()
    await runtime.pool.execute(
        """
        with c as (
            insert into claims (id, host_no, kind, event_type_id, starts_at, ends_at, during, active, created_at)
            select gen_random_uuid(), c.host_no, c.kind, c.event_type_id, t, t + interval '1 minute',
                tstzrange(t, t + interval '1 minute'), false, t - interval '2 days'
            from claims c, unnest($2::timestamptz[]) t where c.id = $1 returning *
        )
        insert into bookings (id, host_id, event_type_id, claim_id, status, starts_at, ends_at, invitee_name,
            invitee_email, invitee_zone, location, answers, cancelled_at, created_at, updated_at, no_show)
        select gen_random_uuid(), b.host_id, b.event_type_id, c.id,
            case when n % 3 = 0 then 'CANCELLED' else b.status end, c.starts_at, c.ends_at, b.invitee_name,
            b.invitee_email, b.invitee_zone, b.location, b.answers, case when n % 3 = 0 then c.created_at end,
            c.created_at, c.created_at, n % 4 = 0
        from (select *, row_number() over (order by starts_at) as n from c) c, bookings b where b.claim_id = $1""",
        booking.claim_id,
        STARTS,
    )


async def count(runtime: Runtime, user: User, first: date, last: date) -> tuple[HostFigures, HostPeriod]:
    period = HostPeriod(first=first, last=last)
    return await read_figures(runtime.work(OPERATOR), user, period, event_type_id=None), period


@pytest.mark.parametrize(
    ("first", "last"),
    [
        (date(2026, 3, 29), date(2026, 3, 29)),
        (date(2026, 3, 28), date(2026, 3, 30)),
        (date(2026, 3, 31), date(2026, 3, 31)),
        (date(2026, 4, 1), date(2026, 4, 1)),
        (date(2026, 3, 1), date(2026, 4, 30)),
        (date(2025, 1, 1), date(2025, 1, 31)),
    ],
    ids=["the day with 23 hours", "around it", "the end of a month", "the next month", "all", "nothing"],
)
async def test_figures_are_those_of_a_count_by_hand(
    runtime: Runtime, user: User, book: Book, first: date, last: date
) -> None:
    await fill(runtime, book)
    figures, period = await count(runtime, user, first, last)

    for part in (period, period.before):
        for kind, (condition, moment) in CONDITIONS.items():
            statement = COUNT.format(condition=condition, moment=moment)
            by_hand = await runtime.pool.fetchval(statement, user.id, part.first, part.last)
            assert figures.total(kind, part) == by_hand, (kind, part)
    assert sum(figures.hours.values()) == figures.total("kept", period)
    assert sum(each.get("made", 0) for each in figures.event_types.values()) == figures.total("made", period)


async def test_hours_and_days_are_those_of_the_hosts_zone(runtime: Runtime, user: User, book: Book) -> None:
    await fill(runtime, book)
    figures, period = await count(runtime, user, date(2026, 3, 28), date(2026, 3, 29))

    # 23:59 on Saturday; on Sunday midnight is kept, 01:59 was cancelled, and 03:00 comes after it.
    assert figures.hours == {(5, 23): 1, (6, 0): 1, (6, 3): 1, (6, 23): 1}
    assert figures.list_days("kept", period) == [1, 3]
    assert figures.ahead == {"ahead": 2 * 86400, "ahead_before": 2 * 86400}
    nothing, _ = await count(runtime, user, date(2025, 3, 26), date(2025, 3, 30))
    assert nothing == HostFigures()


async def test_visits_count_once_and_only_the_hosts(runtime: Runtime, user: User, stranger: User) -> None:
    type_id = await runtime.pool.fetchval("select id from event_types where owner_id = $1", user.id)
    on = date(2026, 2, 1)
    for host, page, source, views in (
        (user.id, None, "direct", 5),
        (user.id, type_id, "internal", 3),
        (user.id, type_id, "news.example", 2),
        (stranger.id, None, "direct", 9),
    ):
        await runtime.pool.execute(
            "insert into page_views (host_id, event_type_id, on_day, source, views) values ($1, $2, $3, $4, $5)",
            *(host, page, on, source, views),
        )
    figures, period = await count(runtime, user, on, on)
    of_type = await read_figures(runtime.work(OPERATOR), user, period, event_type_id=type_id)

    assert (figures.total("visits", period), figures.sources) == (7, {"direct": 5, "news.example": 2})
    assert (of_type.total("visits", period), of_type.sources) == (5, {"internal": 3, "news.example": 2})


async def test_bookings_by_source_are_those_of_a_count_by_hand(runtime: Runtime, user: User, book: Book) -> None:
    await fill(runtime, book)
    await runtime.pool.execute(
        """
        update bookings b set source = (array['direct', 'news.example', null])[1 + n % 3]
        from (select id, row_number() over (order by starts_at, id) as n from bookings) s where s.id = b.id"""
    )
    for first, last in ((date(2026, 3, 27), date(2026, 3, 29)), (date(2026, 3, 1), date(2026, 3, 31))):
        figures, _ = await count(runtime, user, first, last)
        by_hand = await runtime.pool.fetch(
            """
            select source, count(*) from bookings where host_id = $1 and source is not null
            and (created_at at time zone 'Europe/Berlin')::date between $2 and $3 group by 1""",
            *(user.id, first, last),
        )
        assert figures.booked == {row["source"]: row["count"] for row in by_hand}
        assert figures.booked
        assert figures.sources_since == await runtime.pool.fetchval(
            "select min(created_at at time zone 'Europe/Berlin')::date from bookings where source is not null"
        )


async def test_sources_are_shown_with_visits_bookings_and_their_share(
    member: httpx2.AsyncClient, clock: MovingClock, runtime: Runtime, user: User, stranger: User, book: Book
) -> None:
    clock.now = TEN - timedelta(days=1)
    for host, source, views in ((user, "letter", 4), (user, "direct", 9), (stranger, "letter", 50)):
        await runtime.pool.execute(
            "insert into page_views (host_id, on_day, source, views) values ($1, $2, $3, $4)",
            *(host.id, clock.now.date(), source, views),
        )
    before = read_page(await member.get("/analytics")).text
    await book(source="letter")
    await book(TWELVE, email="hana@kim.example", source="poster")
    await runtime.pool.execute("update bookings set created_at = $1", clock.now)
    page = read_page(await member.get("/analytics"))

    assert "as soon as someone books on your pages" in before
    assert [row for row in page.rows if len(row) == 4] == [
        ["Source", "Visits", "Bookings", "Conversion"],
        ["Direct, or from an email", "9", "0", "0%"],
        ["letter", "4", "1", "25%"],
        ["poster", "0", "1", "\u2013"],
    ]
    assert "Bookings on your pages are counted by source since 15 March 2026." in page.text
    assert "none before" in page.text


async def test_the_page_shows_figures_charts_and_their_numbers(
    member: httpx2.AsyncClient, clock: MovingClock, book: Book
) -> None:
    await book()
    await book(TWELVE, email="hana@kim.example")
    clock.now = TEN + timedelta(days=1)
    answer = await member.get("/analytics?days=7")
    page = read_page(answer)

    assert answer.status_code == 200
    assert "style=" not in answer.text
    assert page.headings[0] == "Analytics"
    assert "Most often Monday, 11:00: 1 meeting." in page.text
    assert re.search(r"<span>Meetings</span><b>2</b>", answer.text)
    assert answer.text.count("<li tabindex") == 7
    assert ["Monday 16 March", "2", "0"] in page.rows


async def test_the_meetings_before_are_those_that_the_figure_compares_with(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    await book()
    cancelled = await book(TWELVE, email="hana@kim.example")
    await cancel(runtime, cancelled)
    await book(TEN + timedelta(days=7), email="ivo@horvat.example")
    clock.now = TEN + timedelta(days=8)
    page = read_page(await member.get("/analytics?days=7"))

    assert "Meetings1as before" in page.text
    assert "Meetings before 1" in page.text


async def test_a_file_has_a_line_for_each_day(member: httpx2.AsyncClient, clock: MovingClock, book: Book) -> None:
    await book()
    clock.now = TEN + timedelta(days=1)
    answer = await member.get("/analytics/export.csv?days=7")
    rows = list(csv.reader(StringIO(answer.text.removeprefix("\ufeff"))))

    assert rows[0] == ["Day", "Bookings", "Meetings", "Cancelled", "Visits", "No-shows"]
    assert len(rows) == 8
    assert rows[-2] == [str(TEN.date()), "1", "1", "0", "0", "0"]


@pytest.mark.parametrize(
    ("query", "field", "fault"),
    [
        ("from=x", "from", "Must be a date, such as 2026-03-16"),
        ("to=2199-01-01", "to", "Must not be in the future"),
        ("from=2020-01-01", "from", "Must be at most 365 days before the last day"),
        ("from=2026-01-05&to=2026-01-04", "to", "Must not be before the first day"),
    ],
)
async def test_what_can_not_be_shown_is_told_at_its_field(
    member: httpx2.AsyncClient, query: str, field: str, fault: str
) -> None:
    answer = await member.get(f"/analytics?{query}")

    assert answer.status_code == 400
    assert read_page(answer).faults == {field: fault}
