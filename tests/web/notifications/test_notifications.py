"""Choose mails and reminders by their check boxes."""

import re
from contextlib import nullcontext
from datetime import timedelta

import httpx2

from openslot.accounts.models import User
from openslot.app import create_app
from openslot.core.config import Settings
from openslot.core.work import Runtime
from openslot.integrations.mail.models import DEFAULT_TOPICS, MailTopic
from openslot.web.dashboard.notifications import MEETINGS, PROBLEMS
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.forms import FOREIGN
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
    assert checked(first, "minutes") == ["1440", "60"]

    answer = await member.post(HERE, data={"topics": ["reminder", "booked", "nonsense"]})
    assert answer.headers["location"] == f"{HERE}?done=saved"
    shown = await member.get(answer.headers["location"])
    assert read_page(shown).notices == ["Your choice was saved."]
    assert checked(shown, "topics") == ["booked", "reminder"]
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


async def test_reminders_are_chosen_and_own_times_stay_on_offer(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    answer = await member.post(f"{HERE}/reminders", data={"minutes": ["2880", "15"]})
    assert "The reminders were saved." in read_page(await member.get(answer.headers["location"])).notices[0]
    assert checked(await member.get(HERE), "minutes") == ["2880", "15"]
    await runtime.pool.execute("update reminder_settings set minutes_before = '{4320,7}'")
    shown = await member.get(HERE)
    assert checked(shown, "minutes") == ["4320", "7"]
    assert "3 days before" in read_page(shown).text
    assert "7 minutes before" in read_page(shown).text
    await member.post(f"{HERE}/reminders", data={})
    assert checked(await member.get(HERE), "minutes") == []


WRONG_REMINDERS: list[tuple[list[str], str]] = [
    (["10080", "2880", "1440", "240", "120", "60"], "Must be at most 5 reminders"),
    (["1"], "Must be from 5 to 40320 minutes"),
    (["999999"], "Must be from 5 to 40320 minutes"),
    (["soon"], "Must be one of these times"),
    (["-60"], "Must be one of these times"),
    (["١٥"], "Must be one of these times"),
    (["<xss-probe>"], "Must be one of these times"),
]


async def test_wrong_reminders_are_refused_at_their_field(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    for minutes, fault in WRONG_REMINDERS:
        answer = await member.post(f"{HERE}/reminders", data={"minutes": minutes})

        assert answer.status_code == 400, (minutes, fault)
        assert read_page(answer).faults == {"minutes": fault}, (minutes, fault)
        assert "<xss-probe" not in answer.text, (minutes, fault)
        assert await runtime.pool.fetchval("select count(*) from reminder_settings") == 0, (minutes, fault)


async def test_six_chosen_times_stay_checked_when_they_are_too_many(member: httpx2.AsyncClient) -> None:
    minutes = ["10080", "2880", "1440", "240", "120", "60"]

    assert checked(await member.post(f"{HERE}/reminders", data={"minutes": minutes}), "minutes") == minutes


async def test_a_form_of_another_site_is_refused_and_changes_nothing(
    member: httpx2.AsyncClient, runtime: Runtime
) -> None:
    for path in (HERE, f"{HERE}/reminders"):
        for headers in FOREIGN:
            assert (await member.post(path, data={"minutes": ["15"]}, headers=headers)).status_code == 403
    assert await runtime.pool.fetchval("select count(*) from notification_choices") == 0
    assert await runtime.pool.fetchval("select count(*) from reminder_settings") == 0


async def test_without_a_session_the_page_asks_to_sign_in(client: httpx2.AsyncClient) -> None:
    assert (await client.get(HERE)).headers["location"].startswith("/login")


async def test_the_page_needs_four_statements(settings: Settings, runtime: Runtime, user: User) -> None:
    session = await open_session(runtime, user)
    pool = CountingPool(runtime.pool)
    runtime.pool = pool
    app = create_app(settings)
    app._open_runtime = lambda: nullcontext(runtime)
    async with serving(app) as url, connect(url, headers=session) as client:
        assert await count_statements(client, pool, HERE) == (200, 4), pool.asked
