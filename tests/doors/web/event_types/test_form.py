"""The form of an event type: everything can be set, and every fault is at its field."""

from datetime import date

import httpx2
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import (
    BusinessDaysWindow,
    EventType,
    Limits,
    Location,
    LocationAsks,
    LocationKind,
    Money,
    Question,
    QuestionKind,
    RangeWindow,
    RollingWindow,
)
from openslot.domains.schedules import operations as schedules
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.event_types.conftest import change, load, offer, read_faults, read_fields, save


async def test_the_form_sent_as_it_is_shown_changes_nothing(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    rich = await offer(
        runtime,
        user,
        "rich",
        description="Two\nlines & <more>",
        color="#aa0000",
        location=Location(LocationKind.IN_PERSON, "Room 2"),
        booking_window=RangeWindow(date(2026, 3, 1), date(2026, 4, 30)),
        min_notice_minutes=2880,
        slot_interval_minutes=15,
        limits=Limits(2, 5, 3),
        seats=4,
        buffer_before=5,
        buffer_after=10,
        price=Money(8050, "EUR"),
        redirect_url="https://shop.example/thanks",
        requires_email_verification=True,
        questions=(
            Question("topic", "What about?", QuestionKind.LONG_TEXT, required=True),
            Question("size", "Which size?", QuestionKind.CHOICE, options=("S", "M")),
        ),
    )
    answer = await save(member, rich)

    assert (answer.status_code, answer.headers["location"]) == (303, f"/event-types/{rich.id}?done=saved")
    assert replace(await load(runtime, user, rich), updated_at=rich.updated_at, position=0) == replace(rich, position=0)


CHANGES: list[tuple[dict[str, str], str, object]] = [
    ({"name": " Intro "}, "name", "Intro"),
    ({"slug": "intro-call"}, "slug", "intro-call"),
    ({"description": "日本語 😀\r\nzwei"}, "description", "日本語 😀\nzwei"),
    ({"color": "#AA00FF"}, "color", "#aa00ff"),
    ({"duration": "45"}, "duration_minutes", 45),
    ({"buffer_before": "5"}, "buffer_before", 5),
    ({"buffer_after": "480"}, "buffer_after", 480),
    (
        {"locations.0.kind": "video_link", "locations.0.link": " https://meet.example/a "},
        "location",
        Location(LocationKind.VIDEO_LINK, "https://meet.example/a"),
    ),
    (
        {"locations.0.kind": "phone", "locations.0.number": "+49 30 1"},
        "location",
        Location(LocationKind.PHONE, "+49 30 1"),
    ),
    ({"locations.0.kind": "call"}, "location", Location(LocationKind.PHONE, asks=LocationAsks.PHONE)),
    (
        {"locations.0.kind": "ask", "locations.0.text": "x"},
        "location",
        Location(LocationKind.TEXT, asks=LocationAsks.PLACE),
    ),
    (
        {"locations.0.kind": "in_person", "locations.0.address": " مقهى "},
        "location",
        Location(LocationKind.IN_PERSON, "مقهى"),
    ),
    # A pasted link is a video call.
    (
        {"locations.0.kind": "in_person", "locations.0.address": "https://meet.example/b"},
        "location",
        Location(LocationKind.VIDEO_LINK, "https://meet.example/b"),
    ),
    (
        {"locations.0.kind": "text", "locations.0.text": "HTTPS://meet.example/c"},
        "location",
        Location(LocationKind.VIDEO_LINK, "HTTPS://meet.example/c"),
    ),
    (
        {"locations.0.kind": "text", "locations.0.text": "See https://meet.example/c"},
        "location",
        Location(LocationKind.TEXT, "See https://meet.example/c"),
    ),
    (
        {"locations.0.kind": "text", "locations.0.text": "http://meet.example/c"},
        "location",
        Location(LocationKind.TEXT, "http://meet.example/c"),
    ),
    ({"window": "businessDays", "window_days": "10"}, "booking_window", BusinessDaysWindow(10)),
    ({"window": "rolling", "window_days": "0"}, "booking_window", RollingWindow(0)),
    ({"notice": "2", "notice_unit": "days"}, "min_notice_minutes", 2880),
    ({"notice": "90"}, "min_notice_minutes", 90),
    ({"interval": "15"}, "slot_interval_minutes", 15),
    ({"interval": ""}, "slot_interval_minutes", None),
    ({"per_day": "3"}, "limits", Limits(3, None)),
    ({"per_week": "9"}, "limits", Limits(None, 9)),
    ({"seats": "12"}, "seats", 12),
    ({"price": "80,5", "currency": "EUR"}, "price", Money(8050, "EUR")),
    ({"price": "1500", "currency": "JPY"}, "price", Money(1500, "JPY")),
    ({"price": ""}, "price", None),
    ({"price": "5.120", "currency": "KWD"}, "price", Money(5120, "KWD")),
    ({"verification": "on"}, "requires_email_verification", True),
    ({"refund": "none"}, "refund_policy", "none"),
    ({"refund": "until", "refund_hours": "48"}, "refund_policy", "until:48"),
]


async def test_every_field_is_saved(member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType) -> None:
    for sent, field, wanted in CHANGES:
        await change(runtime, intro)
        answer = await save(member, intro, **sent)

        assert answer.status_code == 303, (sent, read_faults(answer.text))
        assert getattr(await load(runtime, user, intro), field) == wanted, (sent, field)


FAULTS: list[tuple[dict[str, str], str, str]] = [
    ({"name": ""}, "name", "Enter a name"),
    ({"name": "x" * 201}, "name", "Must have at most 200 characters"),
    ({"name": "a\x00b"}, "name", "Has characters that are not allowed"),
    ({"slug": ""}, "slug", "Enter the last part of the link"),
    ({"slug": "Intro Call"}, "slug", "Must be 1 to 100 lower-case letters"),
    ({"slug": "../admin"}, "slug", "Must be 1 to 100 lower-case letters"),
    ({"description": "x" * 5001}, "description", "Must have at most 5000 characters"),
    ({"color": "red"}, "color", "Must be # and six hexadecimal digits"),
    ({"duration": ""}, "duration", "Enter a number"),
    ({"duration": "0"}, "duration", "Must be from 1 to 1440"),
    ({"duration": "half an hour"}, "duration", "Must be"),
    ({"duration": "9" * 30}, "duration", "Is a number out of range"),
    ({"buffer_before": "481"}, "buffer_before", "Must be from 0 to 480"),
    ({"buffer_after": "-1"}, "buffer_after", "Must be from 0 to 480"),
    ({"locations.0.kind": "moon"}, "locations.0.kind", "Must be one of"),
    ({"locations.0.kind": "video_link", "locations.0.link": "meet"}, "locations.0.link", "Must be a link that begins"),
    (
        {"locations.0.kind": "video_link", "locations.0.link": "javascript:alert(1)//https://"},
        "locations.0.link",
        "Must be a link that begins",
    ),
    ({"locations.0.kind": "in_person", "locations.0.address": " "}, "locations.0.address", "Must name the place"),
    ({"locations.0.kind": "phone"}, "locations.0.number", "Must be the number that the invitee calls"),
    ({"locations.0.text": "x" * 501}, "locations.0.text", "Must have at most 500 characters"),
    ({"window_days": "731"}, "window_days", "Must be from 0 to 730"),
    ({"window_days": ""}, "window_days", "Enter a number"),
    ({"window": "range"}, "window_from", "Enter a day"),
    ({"window": "range", "window_from": "2026-04-01"}, "window_to", "Enter a day"),
    (
        {"window": "range", "window_from": "2026-04-01", "window_to": "2026-03-31"},
        "window_to",
        "Must not be before the first day",
    ),
    ({"window": "range", "window_from": "soon"}, "window_from", "Must be a date"),
    ({"notice": "366", "notice_unit": "days"}, "notice", "Must be from 0 to 365 days"),
    ({"notice_unit": "years"}, "notice_unit", "Must be one of"),
    ({"interval": "0"}, "interval", "Must be from 1 to 1440"),
    ({"per_day": "0"}, "per_day", "Must be from 1 to 1000"),
    ({"per_week": "1001"}, "per_week", "Must be from 1 to 1000"),
    ({"seats": "0"}, "seats", "Must be from 1 to 1000"),
    ({"price": "80 euros"}, "price", "Must be an amount"),
    ({"price": "NaN"}, "price", "Must be an amount"),
    ({"price": "1e400"}, "price", "Must be an amount"),
    ({"price": "80.505"}, "price", "Must have at most 2 decimals"),
    ({"price": "0"}, "price", "Must be more than 0"),
    ({"price": "1", "currency": "euro"}, "currency", "Must be three capital letters"),
    ({"price": "5.125", "currency": "KWD"}, "price", "Must end in 0"),
    ({"refund": "until", "refund_hours": ""}, "refund_hours", "Enter a number"),
    ({"refund": "until", "refund_hours": "9000"}, "refund_hours", "Must be from 1 hour to 365 days"),
    ({"schedule": ""}, "schedule", "Choose a schedule"),
    ({"schedule": "01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e8f"}, "schedule", "Choose one of your schedules"),
    ({"schedule": "x"}, "schedule", "Must be a UUID"),
]


async def test_a_fault_is_told_at_its_field_and_what_was_typed_stays(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    path = f"/event-types/{intro.id}"
    fields = read_fields((await member.get(path)).text)
    for sent, field, fault in FAULTS:
        answer = await member.post(path, data=fields | sent)

        assert answer.status_code == 400, (sent, field)
        assert read_faults(answer.text)[field].startswith(fault), (sent, field)
        shown = read_fields(answer.text)
        # A browser sends no control characters and chooses an option or a color that exists.
        kept = {name: value for name, value in sent.items() if name not in {"name", "notice_unit", "color"}}
        for name, value in kept.items():
            if not name.endswith((".kind", "schedule", "window_from", "currency")):
                assert shown[name] == value.replace("\r\n", "\n"), (sent, field)
        assert await load(runtime, user, intro) == intro, (sent, field)


async def test_a_section_with_a_fault_is_open_and_others_stay_folded(
    member: httpx2.AsyncClient, intro: EventType
) -> None:
    calm = (await member.get(f"/event-types/{intro.id}")).text
    wrong = (await save(member, intro, per_day="0")).text

    assert 'id="limits">' in calm
    assert 'id="limits" open>' in wrong
    assert 'id="more">' in wrong


async def test_a_slug_that_is_taken_is_a_fault_of_its_field(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    await offer(runtime, user, "taken")
    answer = await save(member, intro, slug="taken", name="Renamed")

    assert (answer.status_code, read_faults(answer.text)) == (400, {"slug": "Is taken"})
    assert read_fields(answer.text)["name"] == "Renamed"
    assert (await load(runtime, user, intro)).slug == intro.slug


async def test_the_schedule_of_another_host_is_refused(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, stranger: User, intro: EventType
) -> None:
    theirs, *_ = await schedules.list_schedules(runtime.work(OPERATOR), stranger)
    answer = await save(member, intro, schedule=str(theirs.id))

    assert read_faults(answer.text) == {"schedule": "Choose one of your schedules"}
    assert (await load(runtime, user, intro)).schedule_id == intro.schedule_id


async def test_another_of_ones_schedules_can_be_chosen(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        evening = await schedules.add_schedule(work, user, name="Evening <hours>")
    page = (await member.get(f"/event-types/{intro.id}")).text
    await save(member, intro, schedule=str(evening.id))

    assert ">Evening &lt;hours&gt;<" in page
    assert (await load(runtime, user, intro)).schedule_id == evening.id


async def test_every_fault_is_told_at_once(member: httpx2.AsyncClient, intro: EventType) -> None:
    answer = await save(member, intro, duration="0", seats="0", price="x", slug="")

    assert read_faults(answer.text).keys() == {"duration", "seats", "price", "slug"}


async def test_the_page_shows_state_link_and_what_archiving_means(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    page = (await member.get(f"/event-types/{intro.id}")).text

    assert "Public" in page
    assert 'href="http://127.0.0.1:8000/mara/30min"' in page
    assert "It has no upcoming bookings." in page
    assert f"/api/v1/event-types/{intro.id}" in page


async def test_other_durations_and_the_page_after_booking_are_typed_as_text(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    talk = await offer(runtime, user, "talk")
    answer = await save(member, talk, durations="60; 15,30", redirect_url=" https://shop.example/thanks ")
    assert answer.status_code == 303, answer.text
    saved = await load(runtime, user, talk)
    assert (saved.duration_minutes, saved.durations) == (30, (15, 30, 60))
    assert saved.redirect_url == "https://shop.example/thanks"
    page = await member.get(f"/event-types/{talk.id}")
    assert read_fields(page.text)["durations"] == "15, 60"

    faults = read_faults((await save(member, talk, durations="15 or 60", redirect_url="http://shop.example")).text)
    assert faults == {"durations": "Must be numbers of minutes, such as 15, 60"}
    faults = read_faults((await save(member, talk, durations="", redirect_url="http://shop.example")).text)
    assert list(faults) == ["redirect_url"]
    assert list(read_faults((await save(member, talk, durations="15", seats="2")).text)) == ["durations"]
    assert (await save(member, talk, durations="", redirect_url="")).status_code == 303
    plain = await load(runtime, user, talk)
    assert (plain.durations, plain.redirect_url) == ((), None)
