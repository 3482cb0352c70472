"""One booking: its details, what happened, and what was done because of it, in plain words."""

import re
from datetime import timedelta

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.actor import Actor, ActorKind
from openslot.platform.core.work import Runtime
from openslot.platform.i18n.languages import LANGUAGES
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import ELEVEN, TEN, Book, cancel, fail, listen, move
from tests.support.languages import check_language, english_texts
from tests.support.page import read_page

NOBODY = "01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e8f"
ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d")
UUID_SHAPE = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-")


def shown(text: str) -> str:
    """Return what a reader sees: no tags, no commands to copy."""
    main = text[text.index("<main") : text.index("</main>")]
    without = re.sub(r"<details.*?</details>", "", main, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", without).split())


async def test_the_details_are_in_both_times_and_in_words(member: httpx2.AsyncClient, book: Book) -> None:
    booking = await book(notes="Pricing for a team of 12", guests=("li@okafor.example",), zone="Asia/Kolkata")
    text = shown((await member.get(f"/bookings/{booking.id}")).text)

    assert "Jonas Okafor Confirmed" in text
    assert "Kolkata, 4 h 30 min ahead" in text
    assert "11:00 – 11:30 Today, 16 March" in text
    assert "For the invitee: Monday 16 March, 15:30 – 16:00" in text
    assert "Pricing for a team of 12" in text
    assert "li@okafor.example" in text


async def test_it_leads_to_its_event_type_and_its_contact(member: httpx2.AsyncClient, book: Book) -> None:
    booking = await book()
    text = (await member.get(f"/bookings/{booking.id}")).text

    for path in (f"/event-types/{booking.event_type_id}", f"/contacts/{booking.contact_id}"):
        assert f'<a href="{path}">' in text
        assert (await member.get(path)).status_code == 200


async def test_every_step_says_how_it_stands(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    await listen(runtime, user)
    booking = await book(TEN + timedelta(days=3))
    before = shown((await member.get(f"/bookings/{booking.id}")).text)
    await work_off(runtime, clock)
    text = shown((await member.get(f"/bookings/{booking.id}")).text)

    assert "Jonas Okafor created this booking today, 08:00" in before
    assert "Emails about this change in progress" in before
    assert "Confirmation to jonas@okafor.example in the mailbox, not sent" in text
    assert "Confirmation to you in the mailbox, not sent" in text
    assert "Reminder to jonas@okafor.example Wednesday 18 March, 11:00" in text
    assert "Webhook to 127.0.0.1 tried once: " in text
    assert "retry in less than a minute" in text
    assert "Emails about this change" not in text
    for pattern in (ISO, UUID_SHAPE, re.compile("SUCCESS|CONFIRMED|queued|webhooks.send|mail.send")):
        assert pattern.search(text) is None


WAITS: list[tuple[timedelta, str]] = [
    (timedelta(seconds=20), "retry in less than a minute"),
    (timedelta(minutes=4), "retry in 4 min"),
    (timedelta(hours=5), "retry in 5 h"),
    (timedelta(days=3), "retry in 3 days"),
]


async def test_a_retry_says_how_long_it_takes(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    await listen(runtime, user)
    booking = await book()
    await work_off(runtime, clock)
    for wait, words in WAITS:
        await runtime.pool.execute(
            "update effects set next_try_at = $1 where reaction = 'webhooks.send'", clock.now + wait
        )

        assert words in read_page(await member.get(f"/bookings/{booking.id}")).text, (wait, words)


async def test_a_failed_step_is_tried_again(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    await listen(runtime, user)
    booking = await book()
    effect_id = await fail(runtime, clock)
    failed = (await member.get(f"/bookings/{booking.id}")).text
    tried = await member.post(f"/bookings/{booking.id}/retry/{effect_id}")
    again = await member.post(f"/bookings/{booking.id}/retry/{effect_id}")
    after = (await member.get(tried.headers["location"])).text

    assert "failed" in shown(failed)
    assert "tried 10 times" in failed
    assert f'action="/bookings/{booking.id}/retry/{effect_id}"' in failed
    assert tried.headers["location"] == f"/bookings/{booking.id}?done=queued"
    assert "It will be retried now." in after
    assert "Try again" not in after
    assert again.status_code == 404
    assert "This step has not failed, or no longer exists" in read_page(again).text


async def test_a_failed_step_that_a_later_one_has_replaced_is_left_out(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    await listen(runtime, user)
    booking = await book()
    effect_id = await fail(runtime, clock)
    await move(runtime, booking, ELEVEN)
    await work_off(runtime, clock)
    await runtime.pool.execute(
        "update effects set state = 'done', finished_at = $1 where reaction = 'webhooks.send' and state = 'queued'",
        clock.now,
    )
    tried = await member.post(f"/bookings/{booking.id}/retry/{effect_id}")
    text = shown((await member.get(tried.headers["location"])).text)

    assert tried.headers["location"].endswith("?done=skipped")
    assert "a later change replaced it" in text
    assert "skipped" in text


async def test_a_step_is_tried_again_only_from_its_own_booking(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    await listen(runtime, user)
    await book()
    effect_id = await fail(runtime, clock)
    other = await book(ELEVEN)

    assert (await member.post(f"/bookings/{other.id}/retry/{effect_id}")).status_code == 404
    assert await runtime.pool.fetchval("select state from effects where id = $1", effect_id) == "dead"


async def test_the_history_says_who_did_what(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book
) -> None:
    key = Actor(kind=ActorKind.KEY, user_id=user.id)
    booking = await book()
    await move(runtime, booking, ELEVEN, actor=key)
    await cancel(runtime, booking, actor=Actor(kind=ActorKind.SCIM), reason="Has left")
    text = shown((await member.get(f"/bookings/{booking.id}")).text)

    assert "Jonas Okafor created this booking" in text
    assert "You rescheduled this booking today, 08:00 It was today, 11:00 The train is late" in text
    assert "Your organization cancelled this booking today, 08:00 Has left" in text
    assert "Reschedule" not in text
    assert "Jonas Okafor Cancelled" in text


async def test_the_history_outlives_its_events(member: httpx2.AsyncClient, runtime: Runtime, book: Book) -> None:
    booking = await book()
    await runtime.pool.execute("delete from events where subject_id = $1", booking.id)

    assert "Jonas Okafor created this booking" in read_page(await member.get(f"/bookings/{booking.id}")).headings


async def test_a_past_booking_can_not_be_changed(member: httpx2.AsyncClient, clock: MovingClock, book: Book) -> None:
    booking = await book()
    clock.pass_time(days=1)
    text = (await member.get(f"/bookings/{booking.id}")).text

    assert "/cancel" not in text
    for path in ("cancel", "reschedule"):
        answer = await member.get(f"/bookings/{booking.id}/{path}")
        assert (answer.status_code, answer.headers["location"]) == (303, f"/bookings/{booking.id}")
    assert "This booking is in the past" in read_page(await member.post(f"/bookings/{booking.id}/cancel")).notices[0]


async def test_the_command_does_the_same_by_the_api_for_those_who_have_it(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book
) -> None:
    booking = await book()
    with_api = (await member.get(f"/bookings/{booking.id}")).text
    await runtime.pool.execute("update users set plan = 'FREE' where id = $1", user.id)

    assert f"/api/v1/bookings/{booking.id}" in with_api
    assert "/api/v1/" not in (await member.get(f"/bookings/{booking.id}")).text


@pytest.mark.rest("reads every page in every language")
async def test_a_booking_and_its_forms_are_in_the_hosts_language(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    await runtime.pool.execute("update event_types set name = 'Zqx'")
    await listen(runtime, user)
    booking = await book(TEN + timedelta(days=3), name="Qxz", notes="Xqz", zone="Asia/Kolkata")
    await move(runtime, booking, ELEVEN + timedelta(days=3))
    await fail(runtime, clock)
    for language in [each for each in LANGUAGES if each != "en"]:
        await runtime.pool.execute("update users set locale = $1 where id = $2", language, user.id)
        english = english_texts(language)
        for path in ("", "/cancel", "/reschedule", "?done=moved", "?done=queued"):
            check_language(await member.get(f"/bookings/{booking.id}{path}"), language, english)
        check_language(await member.get("/"), language, english)
        header = (await member.get("/bookings/export.csv")).text.partition("\n")[0]
        assert "Email address" not in header, language
