"""Choose mails by their check boxes, and see what people are written."""

import re
from contextlib import nullcontext
from datetime import timedelta

import httpx2

from openslot.app import create_app
from openslot.domains.accounts.models import User
from openslot.domains.mail.models import DEFAULT_TOPICS, MailTopic
from openslot.doors.web.dashboard.notifications import MEETINGS, PROBLEMS
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import TEN, Book, open_session
from tests.support.live import connect, serving
from tests.support.page import read_page
from tests.support.statements import CountingPool, count_statements

HERE = "/settings/notifications"


def checked(page: httpx2.Response, name: str) -> list[str]:
    """Read which boxes are checked."""
    return re.findall(rf'name="{name}" value="([^"]+)" checked', page.text)


def test_every_mail_that_can_be_switched_off_has_a_box() -> None:
    assert {*MEETINGS, *PROBLEMS} == set(MailTopic)


async def test_the_boxes_show_what_is_chosen(member: httpx2.AsyncClient, runtime: Runtime, stranger: User) -> None:
    first = await member.get(HERE)
    assert set(checked(first, "topics")) == set(DEFAULT_TOPICS)

    answer = await member.post(HERE, data={"topics": ["calendar", "booked", "nonsense"]})
    assert answer.headers["location"] == f"{HERE}?done=saved"
    shown = await member.get(answer.headers["location"])
    assert read_page(shown).notices == ["Your choice was saved."]
    assert checked(shown, "topics") == ["booked", "calendar"]
    await member.post(HERE, data={})
    assert checked(await member.get(HERE), "topics") == []
    rows = await runtime.pool.fetch("select distinct user_id from notification_choices")
    assert stranger.id not in {row["user_id"] for row in rows}


async def test_the_booking_says_that_the_mail_was_left_out(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    await member.post(HERE, data={"topics": ["cancelled"]})
    booking = await book(TEN + timedelta(days=3))
    await work_off(runtime, clock)

    assert "you have turned these emails off" in read_page(await member.get(f"/bookings/{booking.id}")).text
    assert await runtime.pool.fetchval("select count(*) from mail_messages where role = 'host'") == 0
    assert await runtime.pool.fetchval("select count(*) from mail_messages where role = 'invitee'") == 1


async def test_reminders_and_follow_ups_are_listed(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    assert "1 day before" in read_page(await member.get(HERE)).text
    # As the last release writes it.
    await runtime.pool.execute(
        """insert into reminder_settings (id, host_id, minutes_before, updated_at)
        values (gen_random_uuid(), $1, '{4320,7}', now())""",
        user.id,
    )
    shown = await member.get(HERE)
    assert "3 days before" in read_page(shown).text
    assert "7 minutes before" in read_page(shown).text
    assert "1 day before" not in read_page(shown).text
    assert 'href="/settings/reminders/all/before-7-email"' in shown.text


async def test_the_page_needs_three_statements(settings: Settings, runtime: Runtime, user: User) -> None:
    session = await open_session(runtime, user)
    pool = CountingPool(runtime.pool)
    runtime.pool = pool
    app = create_app(settings)
    app._open_runtime = lambda: nullcontext(runtime)
    async with serving(app) as url, connect(url, headers=session) as client:
        assert await count_statements(client, pool, HERE) == (200, 3), pool.asked
