"""What people are told of their meetings, and in which order."""

import re
from datetime import timedelta

import httpx2
import icalendar

from openslot.domains.accounts.models import User
from openslot.domains.bookings.links import calendar_url, manage_url
from openslot.domains.mail.models import MailKind, MailStatus
from openslot.platform.core.actor import OPERATOR, EffectAttempt
from openslot.platform.core.work import Runtime
from tests.domains.mail.conftest import (
    ELEVEN,
    TEN,
    TWELVE,
    Book,
    cancel,
    invitation,
    mails,
    messages,
    move,
    part,
    work_off,
)
from tests.support.clocks import MovingClock
from tests.support.effects import run_attempt

JONAS, LI, MARA = "jonas@okafor.example", "li@okafor.example", "mara@lindqvist.example"


async def test_a_booking_is_told_to_invitee_guests_and_host(runtime: Runtime, clock: MovingClock, book: Book) -> None:
    await book(guests=(LI, "ewa@nowak.example"))
    await work_off(runtime, clock)
    assert {each.recipient for each in await mails(runtime)} == {JONAS, LI, "ewa@nowak.example", MARA}
    assert {each.kind for each in await mails(runtime)} == {MailKind.CONFIRMATION}
    assert {each.status for each in await mails(runtime)} == {MailStatus.SENT}


async def test_one_uid_and_a_sequence_that_grows(runtime: Runtime, clock: MovingClock, book: Book) -> None:
    booking = await book(guests=(LI,))
    await work_off(runtime, clock)
    await move(runtime, booking, ELEVEN)
    await work_off(runtime, clock)
    await move(runtime, booking, TWELVE)
    await work_off(runtime, clock)
    await cancel(runtime, booking)
    await work_off(runtime, clock)
    for address in (JONAS, LI, MARA):
        sent = [invitation(message) for message in await messages(runtime, address)]
        assert [method for method, _ in sent] == ["REQUEST", "REQUEST", "REQUEST", "CANCEL"]
        assert [event["sequence"] for _, event in sent] == [0, 1, 2, 3]
        assert {event["uid"] for _, event in sent} == {f"{booking.id}@openslot"}
        assert [event.decoded("dtstart") for _, event in sent] == [TEN, ELEVEN, TWELVE, TWELVE]
        assert {event.decoded("dtend") - event.decoded("dtstart") for _, event in sent} == {timedelta(minutes=30)}


async def test_a_cancellation_never_overtakes_a_confirmation(runtime: Runtime, clock: MovingClock, book: Book) -> None:
    booking = await book(guests=(LI,))
    await move(runtime, booking, ELEVEN)
    await cancel(runtime, booking)
    await work_off(runtime, clock)
    for address in (JONAS, LI, MARA):
        kinds = [each.kind for each in await mails(runtime, address)]
        assert kinds == [MailKind.CONFIRMATION, MailKind.RESCHEDULE, MailKind.CANCELLATION]


async def test_each_reads_their_own_zone_and_hours(
    runtime: Runtime, clock: MovingClock, book: Book, user: User
) -> None:
    await runtime.pool.execute("update users set zone = 'Europe/Berlin', locale = 'en-GB' where id = $1", user.id)
    await book(zone="America/New_York", locale="en-US")
    await work_off(runtime, clock)
    (to_invitee,), (to_host,) = await messages(runtime, JONAS), await messages(runtime, MARA)
    assert "6:00\u202fAM – 6:30\u202fAM" in part(to_invitee, "text/plain")
    assert "New York time, GMT-04:00" in part(to_invitee, "text/plain")
    assert "11:00 – 11:30" in part(to_host, "text/plain")
    assert "Berlin time, GMT+01:00" in part(to_host, "text/plain")


async def test_a_host_is_led_to_the_booking(runtime: Runtime, clock: MovingClock, book: Book) -> None:
    booking = await book(guests=(LI,))
    await work_off(runtime, clock)
    await cancel(runtime, booking)
    await work_off(runtime, clock)
    address = f"{runtime.settings.public_url}/bookings/{booking.id}"
    for message in await messages(runtime, MARA):
        assert f"View the booking: {address}\r\n" in part(message, "text/plain")
        assert f'href="{address}"' in part(message, "text/html")
    for message in (*await messages(runtime, JONAS), *await messages(runtime, LI)):
        assert address not in part(message, "text/plain") + part(message, "text/html")


CALL = '{"kind": "video_link", "value": "https://meet.example/mara"}'
BUTTON = re.compile(r'<td style="background:[^>]*>\s*<a href="([^"]+)"[^>]*>([^<]+)</a>')


async def test_the_button_joins_the_call_or_adds_the_meeting_to_the_calendar(
    runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    there = await book(guests=(LI,))
    await runtime.pool.execute("update event_types set location = $1::jsonb", CALL)
    call = await book(ELEVEN, guests=(LI,))
    await work_off(runtime, clock)
    base, join = runtime.settings.public_url, ("https://meet.example/mara", "Join")
    shown = {
        address: [BUTTON.findall(part(each, "text/html")) for each in await messages(runtime, address)]
        for address in (JONAS, LI, MARA)
    }

    assert shown == {
        JONAS: [[(f"{manage_url(runtime, there.id)}/calendar.ics", "Add to calendar")], [join]],
        LI: [[], [join]],
        MARA: [[(f"{base}/bookings/{there.id}", "View the booking")], [join]],
    }
    (_, to_invitee), (_, to_host) = [await messages(runtime, address) for address in (JONAS, MARA)]
    manage = manage_url(runtime, call.id)
    assert f"Join: {join[0]}\r\nReschedule: {manage}/reschedule\r\nCancel the meeting: {manage}/cancel\r\n" in part(
        to_invitee, "text/plain"
    ).replace("=\r\n", "")
    assert f"Join: {join[0]}\r\nView the booking: {base}/bookings/{call.id}\r\n" in part(to_host, "text/plain")


async def test_the_manage_link_is_the_invitees_alone(runtime: Runtime, clock: MovingClock, book: Book) -> None:
    await book(guests=(LI,))
    await work_off(runtime, clock)
    (to_invitee,), (to_guest,), (to_host,) = [await messages(runtime, each) for each in (JONAS, LI, MARA)]
    assert "/manage/" in part(to_invitee, "text/plain")
    assert "/manage/" in part(to_invitee, "text/html")
    assert b"/manage/" not in to_guest.as_bytes()
    for message in (to_guest, to_host):
        for each in message.walk():
            if not each.is_multipart():
                content = each.get_content()
                assert "/manage/" not in (content if isinstance(content, str) else content.decode())


async def test_what_the_public_writes_is_mailed_to_the_host_alone(
    runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    booking = await book(guests=(LI,), notes="Buy at spam.example", name="Win at https://spam.example")
    await work_off(runtime, clock)
    await cancel(runtime, booking, reason="Buy at spam.example")
    await work_off(runtime, clock)
    for address in (JONAS, LI):
        for message in await messages(runtime, address):
            for kind in ("text/plain", "text/html", "text/calendar"):
                assert "spam" not in part(message, kind)
            assert "spam" not in str(message["To"]) + message["Subject"]
    booked, cancelled = await messages(runtime, MARA)
    assert "Buy at spam.example" in part(booked, "text/plain")
    assert "Buy at spam.example" in part(cancelled, "text/plain")


async def test_a_hosts_reason_reaches_everyone(runtime: Runtime, clock: MovingClock, book: Book) -> None:
    booking = await book(guests=(LI,))
    await move(runtime, booking, ELEVEN, actor=OPERATOR, reason="The train is late")
    await cancel(runtime, booking, actor=OPERATOR, reason="Ill today, sorry")
    await work_off(runtime, clock)
    for address in (JONAS, LI):
        _, moved, cancelled = await messages(runtime, address)
        assert "The train is late" in part(moved, "text/plain")
        assert "Ill today, sorry" in part(cancelled, "text/html")


async def test_replies_go_to_the_other_side(runtime: Runtime, clock: MovingClock, book: Book) -> None:
    await book()
    await work_off(runtime, clock)
    (to_invitee,), (to_host,) = await messages(runtime, JONAS), await messages(runtime, MARA)
    assert to_invitee["Reply-To"].addresses[0].addr_spec == MARA
    assert to_host["Reply-To"].addresses[0].addr_spec == JONAS


async def test_nobody_gets_the_same_news_twice(runtime: Runtime, clock: MovingClock, book: Book) -> None:
    await book(guests=("JONAS@okafor.example", MARA, LI, "LI@okafor.example"))
    await work_off(runtime, clock)
    assert sorted(each.recipient for each in await mails(runtime)) == [JONAS, LI, MARA]


async def test_a_meeting_that_is_over_needs_no_confirmation(runtime: Runtime, clock: MovingClock, book: Book) -> None:
    sends = "select count(*) from effects where reaction = 'mail.send'"
    await book()
    clock.pass_time(hours=12)
    await work_off(runtime, clock)
    assert await runtime.pool.fetchval(sends) == 0
    await book(clock.now + timedelta(hours=15))
    fan_out = "select id from effects where reaction = 'mail.fan_out' and state = 'queued'"
    await run_attempt(runtime, EffectAttempt(effect_id=await runtime.pool.fetchval(fan_out), round=0))
    assert await runtime.pool.fetchval(sends) == 2
    clock.pass_time(hours=16)
    await work_off(runtime, clock)
    assert await mails(runtime) == []


async def test_the_booking_tells_what_became_of_its_mails(
    runtime: Runtime, clock: MovingClock, book: Book, client: httpx2.AsyncClient, bearer: dict[str, str]
) -> None:
    booking = await book()
    before = (await client.get(f"/api/v1/bookings/{booking.id}", headers=bearer)).json()
    assert before["emailLogs"] == []
    await work_off(runtime, clock)
    after = (await client.get(f"/api/v1/bookings/{booking.id}", headers=bearer)).json()
    logs = sorted(after["emailLogs"], key=lambda each: str(each["to"]))
    assert [(each["kind"], each["to"], each["status"], each["error"]) for each in logs] == [
        ("confirmation", JONAS, "mailbox", None),
        ("confirmation", MARA, "mailbox", None),
    ]
    assert logs[0]["sentAt"] is None
    assert logs[0]["subject"] == "Confirmed: 30 minute meeting with Mara Lindqvist, Mon 16 Mar, 11:00"


async def test_the_browser_tells_the_invitees_language(
    runtime: Runtime, clock: MovingClock, user: User, client: httpx2.AsyncClient
) -> None:
    event_type_id = str(await runtime.pool.fetchval("select id from event_types where owner_id = $1", user.id))
    asked = {"fr-CH, en;q=0.5": "fr-CH", "*": None, "": None, "sv": "en-GB"}
    for number, (header, _) in enumerate(asked.items()):
        body = {
            "eventTypeId": event_type_id,
            "startTime": (TEN + timedelta(minutes=30 * number)).isoformat(),
            "inviteeName": "Jonas",
            "inviteeEmail": JONAS,
            "inviteeTimezone": "UTC",
        }
        answer = await client.post("/api/bookings", json=body, headers={"Accept-Language": header})
        assert answer.status_code == 200, answer.text
    rows = await runtime.pool.fetch("select invitee_locale from bookings order by starts_at")
    assert [row["invitee_locale"] for row in rows] == list(asked.values())


async def test_the_calendar_file_is_the_invitees(
    runtime: Runtime, clock: MovingClock, book: Book, client: httpx2.AsyncClient
) -> None:
    booking = await book()
    url = calendar_url(runtime, booking.id).removeprefix(runtime.settings.public_url)
    answer = await client.get(url)
    assert answer.headers["content-type"] == "text/calendar; charset=utf-8"
    (event,) = icalendar.Calendar.from_ical(answer.content).walk("VEVENT")
    assert event["uid"] == f"{booking.id}@openslot"
    await cancel(runtime, booking)
    (event,) = icalendar.Calendar.from_ical((await client.get(url)).content).walk("VEVENT")
    assert (event["status"], event["sequence"]) == ("CANCELLED", 1)
    assert (await client.get("/manage/nonsense/calendar.ics")).status_code == 404
