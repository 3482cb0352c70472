"""Several locations in the form: added, moved and removed by buttons alone, read with a field for each kind."""

import httpx2

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType, Location, LocationAsks, LocationKind
from openslot.platform.core.work import Runtime
from tests.doors.web.event_types.conftest import load, offer, read_faults, read_fields, save
from tests.support.page import read_page

ROOM = Location(LocationKind.IN_PERSON, "Room 2", id="in_person")
CALL = Location(LocationKind.PHONE, asks=LocationAsks.PHONE, id="phone")


async def test_they_are_added_moved_and_saved_by_buttons_alone(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    path = f"/event-types/{intro.id}"
    fields = read_fields((await member.get(path)).text)
    fields |= {"name": "Typed before", "locations.0.kind": "in_person", "locations.0.address": "Room 2"}
    added = await member.post(path, data={**fields, "act": "add"})
    assert added.status_code == 200
    assert 'data-watch="unsaved"' in added.text
    fields = {**read_fields(added.text), "locations.1.kind": "call"}
    fields = read_fields((await member.post(path, data={**fields, "act": "up.1"})).text)
    assert (fields["locations.0.kind"], fields["locations.1.address"]) == ("call", "Room 2")
    assert await load(runtime, user, intro) == intro
    assert (await member.post(path, data=fields)).status_code == 303

    saved = await load(runtime, user, intro)
    assert (saved.name, saved.location, saved.locations) == ("Typed before", CALL, (CALL, ROOM))
    assert (await save(member, saved)).status_code == 303
    assert (await load(runtime, user, intro)).locations == (CALL, ROOM)
    assert "Phone call · In person" in read_page(await member.get("/event-types")).text.replace("  ", " ")

    fields = read_fields((await member.get(path)).text)
    fields = read_fields((await member.post(path, data={**fields, "act": "remove.0"})).text)
    assert (await member.post(path, data=fields)).status_code == 303
    single = await load(runtime, user, intro)
    assert (single.location, single.locations) == (Location(LocationKind.IN_PERSON, "Room 2"), ())


async def test_a_fault_is_told_at_its_row_and_field(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    two = {"locations.0.kind": "call", "locations.1.kind": "video_link"}
    for sent, field in (
        ({"locations.1.link": "http//x"}, "locations.1.link"),
        ({"locations.1.kind": "moon"}, "locations.1.kind"),
        ({"locations.1.kind": "conference:none"}, "locations.1.kind"),
        ({"locations.1.kind": "call"}, "locations"),
        ({"locations.1.kind": "ask", "seats": "3"}, "locations"),
    ):
        answer = await save(member, intro, **{**two, **sent})
        assert (answer.status_code, list(read_faults(answer.text))) == (400, [field]), sent
        assert await load(runtime, user, intro) == intro


async def test_a_change_elsewhere_is_told_once_and_taken_over(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    path = f"/event-types/{intro.id}"
    first = read_fields((await member.get(path)).text)
    await save(
        member, intro, **{"locations.0.kind": "call", "locations.1.kind": "in_person", "locations.1.address": "A"}
    )
    refused = await member.post(path, data={**first, "name": "From two"})

    assert refused.status_code == 409
    assert refused.text.count("<strong>Where</strong>") == 1
    assert (await member.post(path, data=read_fields(refused.text))).status_code == 303
    saved = await load(runtime, user, intro)
    assert (saved.name, [each.id for each in saved.locations]) == ("From two", ["phone", "in_person"])


async def test_the_preview_and_a_copy_have_them(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    original = await offer(runtime, user, "original", location=ROOM, locations=(ROOM, CALL))
    fields = read_fields((await member.get(f"/event-types/{original.id}")).text)
    shown = await member.post(f"/event-types/{original.id}/preview", data=fields)
    assert read_page(shown).fields["location"].value == "in_person"
    wrong = await member.post(f"/event-types/{original.id}/preview", data={**fields, "locations.1.kind": "moon"})
    assert "Room 2" in wrong.text
    copied = read_fields((await member.get(f"/event-types/new?from={original.id}")).text)
    await member.post(f"/event-types?from={original.id}", data=copied)
    made = await runtime.pool.fetchval("select jsonb_array_length(locations) from event_types where slug like '%copy'")
    assert made == 2


async def test_hosts_book_with_a_location_for_someone(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    await offer(runtime, user, "talk", location=ROOM, locations=(ROOM, CALL))
    page = await member.get("/bookings/new?type=talk")
    assert read_page(page).fields["location"].value == "in_person"
    sent = {"type": "talk", "start": "2026-03-17T10:00:00Z", "name": "Li", "email": "li@wei.example", "timezone": "UTC"}
    wrong = await member.post("/bookings", data={**sent, "location": "phone", "place": "030"})
    assert (wrong.status_code, list(read_page(wrong).faults)) == (400, ["place"])
    made = await member.post("/bookings", data={**sent, "location": "phone", "place": "+493012345678"})
    assert made.status_code == 303
    shown = await member.get(made.headers["location"])
    assert "+493012345678" in shown.text
