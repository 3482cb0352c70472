"""The first screen: today, the next days, what needs attention, and the links to share."""

from datetime import datetime, timedelta

import httpx2

from openslot.domains.accounts.models import User
from openslot.domains.availability.claims import operations as claims
from openslot.domains.availability.models import ById
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType, Money
from openslot.domains.webhooks import operations as webhooks
from openslot.doors.web.dashboard.onboarding import STEPS
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.doors.web.organization.support import read_form
from tests.support.bookings import copy_booking
from tests.support.clocks import MovingClock
from tests.support.host import TEN, Book, cancel, fail, listen, open_session, say_busy
from tests.support.page import read_html, read_page
from tests.support.switches import stop

NOBODY = "01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e8f"


async def test_stopped_messages_are_told_to_those_whom_they_concern(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    await stop(runtime, "sms")
    nothing = read_page(await member.get("/")).text
    await stop(runtime, "email")
    host = read_page(await member.get("/"))
    await runtime.pool.execute("update users set is_admin = true where id = $1", user.id)
    admin = read_page(await member.get("/"))

    assert "stopped" not in nothing
    assert "Needs attention 1 Some outgoing messages are stopped and wait. Email " in host.text
    assert "The administrator of this site has stopped them." in host.text
    assert "/admin/messaging" not in host.addresses
    assert "Some outgoing messages are stopped and wait. Email, SMS " in admin.text
    assert "/admin/messaging" in admin.addresses
    assert "All clear" not in host.text


async def test_a_visitor_is_asked_to_sign_in(client: httpx2.AsyncClient, user: User) -> None:
    answer = await client.get("/")

    assert (answer.status_code, answer.headers["location"]) == (303, "/login")


async def test_today_and_the_next_days_are_in_the_hosts_time(
    member: httpx2.AsyncClient, runtime: Runtime, book: Book
) -> None:
    await book(name="Priya Raman")
    await book(TEN + timedelta(days=1), name="Hana Kim")
    await cancel(runtime, await book(TEN + timedelta(hours=2), name="Ivo Horvat"))
    text = (await member.get("/")).text
    today, _, later = text.partition("Next days")

    assert "Monday 16 March" in today
    assert "11:00 – 11:30" in today
    assert "Priya Raman" in today
    assert "Hana Kim 30 minute meeting Tomorrow 11:00 – 11:30" in read_html(later).text
    assert "Ivo Horvat" not in text


async def test_today_is_a_line_with_what_is_over_now_next_and_later(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book, clock: MovingClock
) -> None:
    await book(name="Priya Raman")
    await book(TEN + timedelta(hours=1), name="Hana Kim")
    await book(TEN + timedelta(hours=3), name="Ivo Horvat")
    clock.now = TEN + timedelta(minutes=42)
    member.headers.update(await open_session(runtime, user))
    page = await member.get("/")
    shown = read_page(page).text
    before, _, after = page.text.partition('class="moment"')

    assert "2 more meetings today" in shown
    assert "Priya Raman" in before
    assert "Next: 30 minute meeting in 18 minutes 12:00 – 12:30" in shown
    assert "Priya Raman" not in after.partition("Next days")[0]
    assert after.index("Hana Kim") < after.index("Ivo Horvat")
    assert page.text.count('class="next-meeting"') == 1
    # The week has a bar for each meeting, paler once it is over.
    assert (page.text.count('<i class="blue over">'), page.text.count('<i class="blue">')) == (1, 2)


async def test_days_of_the_week_lead_to_their_calendar(member: httpx2.AsyncClient, book: Book) -> None:
    await book()
    page = await member.get("/")
    shown = read_page(page)

    assert shown.links["Mon 16 1 meeting"] == "/bookings/day?date=2026-03-16"
    assert shown.links["Sun 22 0 meetings"] == "/bookings/day?date=2026-03-22"
    assert (await member.get(shown.links["Mon 16 1 meeting"])).status_code == 200


async def test_busy_times_of_calendars_are_on_todays_line_without_what_they_are(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, stranger: User, book: Book, clock: MovingClock
) -> None:
    await book(TEN + timedelta(hours=3), name="Ivo Horvat")
    for host, start, end in (
        (user, TEN - timedelta(hours=3), clock.now),
        (user, TEN, TEN + timedelta(hours=1)),
        (user, TEN + timedelta(minutes=30), TEN + timedelta(hours=2, minutes=30)),
        (user, TEN + timedelta(hours=4), TEN + timedelta(days=1)),
        (user, TEN + timedelta(days=1), TEN + timedelta(days=2)),
        (stranger, TEN, TEN + timedelta(hours=9)),
    ):
        await say_busy(runtime, host, start, end, "Dentist")
    shown = read_page(await member.get("/")).text
    line = shown.partition("Needs attention")[0]

    assert line.count("Busy") == 2
    assert "11:00 Busy until 13:30 14:00 Next" in line
    assert line.endswith("15:00 Busy for the rest of the day ")
    assert "Dentist" not in shown


async def test_a_day_can_be_busy_as_a_whole(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    await say_busy(runtime, user, TEN - timedelta(days=2), TEN + timedelta(days=2))
    shown = read_page(await member.get("/")).text

    assert "00:00 Busy all day" in shown


async def test_who_did_not_come_is_marked_and_unmarked_at_todays_past_meetings(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, stranger: User, book: Book, clock: MovingClock
) -> None:
    past, foreign = await book(), await book(host=stranger)
    await book(TEN + timedelta(hours=3), name="Ivo Horvat")
    assert "No-show" not in (await member.get("/")).text

    clock.now = TEN + timedelta(hours=1)
    member.headers.update(await open_session(runtime, user))
    path, read = f"/home/no-show/{past.id}", "select no_show from bookings where id = $1"
    assert (await member.get("/")).text.count("No-show?") == 1

    for value, done, said in (
        ("yes", "no-show", "Marked as a no-show."),
        ("no", "no-show-removed", "no longer marked"),
    ):
        form = read_form((await member.get("/")).text, path)
        marked = await member.post(path, data=form)
        shown = read_page(await member.get(marked.headers["location"]))

        assert (form["no_show"], marked.headers["location"]) == (value, f"/?done={done}")
        assert said in shown.notices[0]
        assert await runtime.pool.fetchval(read, past.id) is (value == "yes")
        assert (f"Undo {past.invitee_name}" in shown.text) is (value == "yes")

    refused = [await member.post(f"/home/no-show/{each}", data={"no_show": "yes"}) for each in (foreign.id, NOBODY)]
    assert [each.status_code for each in refused] == [404, 404]
    assert refused[0].content == refused[1].content
    assert not await runtime.pool.fetchval(read, foreign.id)


async def test_first_steps_are_on_the_first_screen_until_they_are_done(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    await runtime.pool.execute("update users set welcome_step = 2 where id = $1", user.id)
    page = await member.get("/")
    shown = read_page(page)

    assert f"First steps 1 of {len(STEPS)} Time zone Done 2 Hours" in shown.text
    assert shown.links["2 Hours"] == "/welcome/hours"
    assert shown.notices == []

    assert (await member.post("/welcome/finish")).status_code == 303
    assert "First steps" not in read_page(await member.get("/")).text


async def test_what_offers_no_times_needs_attention(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    assert "offers no times" not in read_page(await member.get("/")).text
    paid = await offer(runtime, user, "paid", price=Money(8000, "EUR"))
    shown = read_page(await member.get("/"))
    assert "“Paid” offers no times" in shown.text
    assert shown.links["Show: “Paid” offers no times"] == f"/event-types/{paid.id}"


async def test_a_busy_day_is_not_followed_by_an_empty_week(
    member: httpx2.AsyncClient, runtime: Runtime, book: Book
) -> None:
    booking = await book()
    await copy_booking(runtime, str(booking.id), 250, apart="1 minute")
    text = (await member.get("/")).text

    assert text.count('class="meeting"') == 199
    assert text.count('class="next-meeting"') == 1
    assert "Nothing is booked" not in text
    assert "All upcoming bookings" in text


async def test_a_failure_is_found_among_any_number_of_later_events(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    await listen(runtime, user)
    await book()
    await fail(runtime, clock)
    await runtime.pool.execute(
        """insert into events (id, type, at, actor, tenant_id, subject_kind, fact)
        select gen_random_uuid(), 'contact.created', $2, '{"kind": "public"}', $1, 'contact', '{}'
        from generate_series(1, 3000)""",
        user.id,
        clock.now,
    )

    assert "Webhook to 127.0.0.1" in read_page(await member.get("/")).text


async def test_empty_parts_say_the_next_step(member: httpx2.AsyncClient) -> None:
    text = (await member.get("/")).text

    assert "Nothing is booked for today." in text
    assert "Share your link, so that people can book a time." in text
    assert "All clear. All webhooks and calendar updates were delivered" in text


async def test_the_link_can_be_copied_and_has_its_figures_of_30_days(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, stranger: User, book: Book, clock: MovingClock
) -> None:
    today = clock.now.date()
    for host, days, views, source in (
        (user, 0, 3, "direct"),
        (user, 29, 4, "news.example"),
        (user, 30, 90, "direct"),
        (user, 1, 70, "internal"),
        (stranger, 0, 50, "direct"),
    ):
        await runtime.pool.execute(
            "insert into page_views (host_id, on_day, source, views) values ($1, $2, $3, $4)",
            host.id,
            today - timedelta(days=days),
            source,
            views,
        )
    await book()
    old = await book(TEN + timedelta(hours=1), email="hana@kim.example")
    await runtime.pool.execute(
        "update bookings set created_at = $2 where id = $1", old.id, clock.now - timedelta(days=31)
    )
    shown = await member.get("/")

    assert 'value="http://127.0.0.1:8000/mara"' in shown.text
    assert "Visits in 30 days 7 Bookings in 30 days 1" in read_page(shown).text
    assert shown.text.count('class="spark"') == 1


async def test_without_an_event_type_nothing_can_be_shared(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        offered, _ = await event_types.list_event_types(work, user)
        for each in offered:
            await event_types.set_event_type_active(work, each, active=False)

    assert "You have no public event type that can be booked" in read_page(await member.get("/")).text


async def test_a_failed_step_needs_attention_until_it_is_tried_again(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    await listen(runtime, user)
    booking = await book()
    effect_id = await fail(runtime, clock)
    shown = (await member.get("/")).text
    tried = await member.post(f"/home/retry/{effect_id}")
    after = (await member.get(tried.headers["location"])).text

    assert "Webhook to 127.0.0.1" in shown
    assert read_html(shown).links["Show Jonas Okafor"] == f"/bookings/{booking.id}"
    assert "tried 10 times" in shown
    assert "1 step failed" in shown
    assert tried.headers["location"] == "/?done=queued"
    assert "It will be retried now." in after
    assert "Webhook to 127.0.0.1" not in after
    assert await runtime.pool.fetchval("select state from effects where id = $1", effect_id) == "queued"


async def test_a_failed_reminder_needs_attention(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    booking = await book(TEN + timedelta(days=3))
    await fail(runtime, clock, "mail.remind")
    text = (await member.get("/")).text

    assert "Reminder to jonas@okafor.example" in text
    assert f'href="/bookings/{booking.id}"' in text


async def test_old_failures_are_not_shown_for_ever(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    await listen(runtime, user)
    await book()
    effect_id = await fail(runtime, clock)
    await runtime.pool.execute(
        "update effects set finished_at = $2 where id = $1", effect_id, clock.now - timedelta(15)
    )

    assert "Webhook to 127.0.0.1" not in (await member.get("/")).text


async def test_a_broken_calendar_and_a_disabled_endpoint_need_attention(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    await listen(runtime, user, "https://crm.example/hook")
    (endpoint,) = await webhooks.list_endpoints(runtime.work(OPERATOR), user)
    await runtime.pool.execute("update webhook_endpoints set state = 'disabled' where id = $1", endpoint.id)
    await runtime.pool.execute(
        """insert into calendar_connections (id, owner_id, kind, server, label, secret, next_sync_at, failing_since,
            told_at, last_error, created_at) values
        ($1, $2, 'caldav', 'dav.example', 'mara at dav.example', '', $3, $3, $3, 'The password is wrong.', $3)""",
        NOBODY,
        user.id,
        TEN - timedelta(days=1),
    )
    shown = read_page(await member.get("/"))

    assert shown.links["Show: The calendar “mara at dav.example” can't be synced"] == "/settings/calendars"
    assert "The password is wrong." in shown.text
    assert shown.links["Show: The webhook endpoint https://crm.example/hook was switched off"] == "/settings/webhooks"


async def test_a_calendar_that_failed_a_moment_ago_needs_no_attention(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    await runtime.pool.execute(
        """insert into calendar_connections (id, owner_id, kind, server, label, secret, next_sync_at, failing_since,
            created_at) values ($1, $2, 'caldav', 'dav.example', 'Work', '', $3, $3, $3)""",
        NOBODY,
        user.id,
        TEN,
    )

    assert "can&#39;t be read" not in (await member.get("/")).text


async def test_nothing_of_another_host_is_shown_or_tried_again(
    member: httpx2.AsyncClient, runtime: Runtime, stranger: User, clock: MovingClock, book: Book
) -> None:
    await listen(runtime, stranger)
    await book(host=stranger, name="Priya Raman")
    effect_id = await fail(runtime, clock)
    text = (await member.get("/")).text
    tried, unknown = await member.post(f"/home/retry/{effect_id}"), await member.post(f"/home/retry/{NOBODY}")

    assert "Priya Raman" not in text
    assert "Webhook to" not in text
    assert (tried.status_code, tried.text) == (404, unknown.text)
    assert await runtime.pool.fetchval("select state from effects where id = $1", effect_id) == "dead"


async def test_mail_that_is_not_sent_is_shown_for_a_day(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock
) -> None:
    await runtime.pool.execute(
        "insert into mail_limits_reached (host_id, pot, reached_at, told_at) values ($1, 'guests', $2, $2)",
        user.id,
        clock.now,
    )
    assert "Show: Not sent: Emails to guests" in read_page(await member.get("/")).links

    clock.pass_time(hours=24)
    assert "Not sent" not in (await member.get("/")).text


async def test_unusually_many_held_times_are_shown_with_their_days(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock
) -> None:
    group = await offer(runtime, user, "group", seats=5)
    single = await offer(runtime, user, "single")

    async def hold(event_type: EventType, starts_at: datetime) -> None:
        async with runtime.transaction(PUBLIC) as work:
            await claims.hold_slot(work, ById(event_type.id), starts_at, holder=str(new_id()))

    for hours in (24, 25):
        await hold(single, TEN + timedelta(hours=hours))
    await hold(group, TEN + timedelta(hours=48))
    assert "held right now" not in (await member.get("/")).text

    await hold(group, TEN + timedelta(hours=48))
    text = (await member.get("/")).text
    assert "4 times are held right now" in text
    assert "Tuesday 17 March: 2 times" in text
    assert "Wednesday 18 March: 2 times" in text
    clock.pass_time(minutes=10)
    assert "held right now" not in (await member.get("/")).text
