"""The preview: the booking page as it would be, without saving, booking or counting anything."""

from datetime import date, timedelta
from typing import Any

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType, Limits, Question, QuestionKind, RangeWindow, ShowIf
from openslot.domains.schedules import operations as schedules
from openslot.doors.web.dashboard.event_types.preview import PREVIEWS
from openslot.doors.web.shared import options
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.event_types.conftest import load, offer, read_fields
from tests.support.host import TEN, Book
from tests.support.page import read_page
from tests.support.payments import insert_connection

SLOT = 'name="start" value="'


async def preview(member: httpx2.AsyncClient, event_type: EventType, page: str = "", **changes: str) -> str:
    """Show a form of an event type with some fields changed."""
    path = f"/event-types/{event_type.id}{page}"
    fields = read_fields((await member.get(path)).text)
    answer = await member.post(f"{path}/preview", data=fields | changes)
    assert answer.status_code == 200
    return answer.text


async def test_the_form_is_shown_as_it_would_be_and_nothing_is_saved(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    page = await preview(
        member,
        intro,
        name="Tea & talk",
        description="With <b>biscuits</b>",
        duration="60",
        seats="3",
        color="#aa00ff",
    )
    milk = {"questions.0.label": "Milk?", "questions.0.kind": "checkbox"}
    asked = await preview(member, intro, "/questions", **milk)

    assert "Tea &amp; talk" in page
    assert "With &lt;b&gt;biscuits&lt;/b&gt;" in page
    assert "Up to 3 people" in page
    assert "3 seats left" in page
    assert "Milk?" in asked
    assert "/static/accent/aa00ff.css" in page
    assert await load(runtime, user, intro) == intro


async def test_a_question_that_depends_on_another_says_when_it_is_asked(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    size = Question("size", "Which size?", QuestionKind.CHOICE, options=("S", "M"))
    asking = await offer(
        runtime, user, "asking", questions=(size, Question("why", "Why?", show_if=ShowIf("size", ("S",))))
    )

    assert "Only if the answer to “Which size?” is: S" in await preview(member, asking)
    moved = await preview(
        member, asking, "/questions", **{"questions.1.show_key": "missing", "questions.1.show_values": "S"}
    )
    assert "Which size?" in moved


async def test_a_price_can_be_paid_in_the_preview_if_payments_are_connected(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    priced = {"name": "Paid", "price": "80", "currency": "EUR"}

    async def preview_both() -> list[str]:
        fields = read_fields((await member.get("/event-types/new?start=one-to-one")).text)
        new = await member.post("/event-types/new/preview?start=one-to-one", data=fields | priced)
        return [await preview(member, intro, **priced), new.text]

    unpayable = await preview_both()
    await insert_connection(runtime, "rk_test_1234", user_id=user.id)

    for page in unpayable:
        assert "payments are not set up yet" in page
    for page in await preview_both():
        assert "80.00" in page
        assert "payments are not set up yet" not in page
        assert SLOT in page


async def test_the_times_are_those_that_would_be_offered(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType, book: Book
) -> None:
    await book(TEN)
    usual = await preview(member, intro)
    assert usual.count("2026-03-16T") == 15  # 09:00 to 17:00 in Berlin, without what is booked
    assert f'{SLOT}2026-03-16T10:00:00Z"' not in usual
    assert f'{SLOT}2026-03-16T09:30:00Z"' in usual
    buffered = await preview(member, intro, buffer_after="15")
    assert f'{SLOT}2026-03-16T09:30:00Z"' not in buffered
    noticed = await preview(member, intro, notice="1", notice_unit="days")
    assert f"{SLOT}2026-03-16" not in noticed
    limited = await preview(member, intro, per_day="1")
    assert f"{SLOT}2026-03-16" not in limited
    assert f"{SLOT}2026-03-17" in limited
    dense = await preview(member, intro, interval="10")
    assert f'{SLOT}2026-03-17T08:10:00Z"' in dense
    ranged = await preview(member, intro, window="range", window_from="2026-04-01", window_to="2026-04-02")
    assert f"{SLOT}2026-04-01" in ranged
    assert f"{SLOT}2026-04-03" not in ranged


async def test_another_schedule_is_followed_and_a_strangers_is_not_shown(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, stranger: User, intro: EventType
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        closed = await schedules.add_schedule(work, user, name="Closed", hours=((),) * 7)
        theirs, *_ = await schedules.list_schedules(work, stranger)
    assert SLOT not in await preview(member, intro, schedule=str(closed.id))

    fields = read_fields((await member.get(f"/event-types/{intro.id}")).text) | {"schedule": str(theirs.id)}
    assert (await member.post(f"/event-types/{intro.id}/preview", data=fields)).status_code == 404


FAULTS: list[dict[str, str]] = [
    {"name": ""},
    {"name": "a\x00b"},
    {"duration": "9" * 30},
    {"duration": "0"},
    {"duration": ""},
    {"slug": "../.."},
    {"description": "x" * 6000},
    {"color": "url(x)"},
    {"locations.0.kind": "video_link", "locations.0.link": "x"},
    {"window": "range"},
    {"window": "range", "window_from": "9999-12-31", "window_to": "0001-01-01"},
    {"window": "nonsense"},
    {"notice": "-1"},
    {"interval": "99999999999"},
    {"per_day": "x"},
    {"seats": "2147483648"},
    {"price": "1e999999999"},
    {"price": "1", "currency": "\ud7ff"},
    {"schedule": "x"},
    {"edition": "x" * 1000},
]
WRONG_QUESTIONS: list[dict[str, str]] = [
    {"questions.0.label": ""},
    {"questions.0.label": "a", "questions.0.kind": "choice"},
    {"questions.0.label": "a", "questions.0.kind": "poem"},
    {"edition": "x" * 1000},
]


async def test_a_field_with_a_fault_is_shown_as_it_is_saved(member: httpx2.AsyncClient, intro: EventType) -> None:
    path = f"/event-types/{intro.id}"
    fields = read_fields((await member.get(path)).text) | {"locations.0.kind": "text", "locations.0.text": "Room 7"}
    for wrong in FAULTS:
        answer = await member.post(f"{path}/preview", data=fields | wrong)
        page = answer.text

        assert answer.status_code == 200, wrong

        assert "30 minute meeting" in page, wrong
        if "locations.0.link" not in wrong:
            assert "Room 7" in page, wrong


async def test_a_question_with_a_fault_is_left_out(member: httpx2.AsyncClient, intro: EventType) -> None:
    for wrong in WRONG_QUESTIONS:
        page = await preview(member, intro, "/questions", **wrong, **{"questions.1.label": "Kept"})

        assert "Kept" in page, wrong
        assert page.count('name="answers.') == 1, wrong
    many = {f"questions.{number}.label": "Q" for number in range(30)}
    assert 'name="answers.' not in await preview(member, intro, "/questions", **many)


@pytest.mark.parametrize(
    "window", [RangeWindow(date.min, date.max), RangeWindow(date.max, date.max), RangeWindow(date.min, date.min)]
)
async def test_far_dates_are_shown_without_an_error(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, window: RangeWindow
) -> None:
    far = await offer(runtime, user, "far", booking_window=window)

    assert "Far" in await preview(member, far)
    assert (await member.get(f"/event-types/{far.id}/preview")).status_code == 200


async def test_it_can_not_be_booked_framed_by_others_or_kept(member: httpx2.AsyncClient, intro: EventType) -> None:
    answer = await member.get(f"/event-types/{intro.id}/preview")

    assert '<article class="card booker" inert>' in answer.text
    assert "<script" not in answer.text
    assert 'method="post"' not in answer.text
    policy = answer.headers["content-security-policy"]
    assert "frame-ancestors 'self'" in policy
    assert answer.headers["cache-control"] == "no-store"
    outer = await member.get(f"/event-types/{intro.id}")
    assert "frame-src 'self'" in outer.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in outer.headers["content-security-policy"]
    assert 'sandbox="allow-same-origin"' in outer.text


async def test_it_is_not_counted_as_a_visit(
    member: httpx2.AsyncClient, runtime: Runtime, intro: EventType, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[Any] = []
    monkeypatch.setattr(options, "count_view", lambda *view: counted.append(view))
    member.headers["user-agent"] = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
    await member.get(f"/event-types/{intro.id}/preview")
    await preview(member, intro)
    await member.get("/event-types/new/preview?start=group")
    assert counted == []
    await member.get("/mara/30min")
    assert len(counted) == 1


async def test_a_new_one_has_a_preview_too(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    original = await offer(runtime, user, "original", limits=Limits(1, 1))
    begun = (await member.get("/event-types/new/preview?start=group")).text
    copied = (await member.get(f"/event-types/new/preview?from={original.id}")).text
    typed = await member.post("/event-types/new/preview", data={"name": "Fresh", "duration": "20"})
    empty = await member.post("/event-types/new/preview", data={"x": "y"})

    assert "Up to 10 people" in begun
    assert "Original (copy)" in copied
    assert ("Fresh" in read_page(typed).headings, "20 minutes" in read_page(typed).text) == (True, True)
    assert "New event type" in read_page(empty).headings
    assert SLOT in typed.text


async def test_an_archived_one_can_be_looked_at(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    old = await offer(runtime, user, "old", active=False)

    assert SLOT in await preview(member, old)


async def test_a_preview_of_a_booked_group_knows_its_seats(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType, book: Book
) -> None:
    await runtime.pool.execute("update event_types set seats = 3 where id = $1", intro.id)
    await book(TEN + timedelta(days=1))
    page = await preview(member, intro)

    assert f'{SLOT}2026-03-17T10:00:00Z">11:00 <small>2 seats left</small>' in page


async def test_previews_are_limited_and_the_frame_says_how_long_to_wait(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    path = f"/event-types/{intro.id}"
    fields = read_fields((await member.get(path)).text)
    await runtime.pool.execute(
        """insert into rate_log (bucket, stamps, taken)
        values ($1, array_fill((extract(epoch from clock_timestamp()) * 1000000)::bigint, array[$2::int]), 1)""",
        f"{PREVIEWS.name}:{user.id}",
        PREVIEWS.max_ - 1,
    )
    last = await member.post(f"{path}/preview", data=fields)
    refused = [
        await member.post(f"{path}/preview", data=fields),
        await member.get(f"{path}/preview"),
        await member.post("/event-types/new/preview", data=fields),
        await member.get("/event-types/new/preview"),
    ]

    assert last.status_code == 200
    for answer in refused:
        assert answer.status_code == 429
        assert "then try again" in read_page(answer).text
        assert "frame-ancestors 'self'" in answer.headers["content-security-policy"]
        assert int(answer.headers["retry-after"]) >= 1
    assert (await member.get(path)).status_code == 200
