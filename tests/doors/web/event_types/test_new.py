"""New event types: from a starting point, as a copy, and with a link of their own."""

import httpx2
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType, Limits, Location, LocationAsks, LocationKind, Question
from openslot.domains.schedules import operations as schedules
from openslot.doors.web.dashboard.event_types.editor import STARTING_POINTS
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.event_types.conftest import list_names, load, offer, read_faults, read_fields
from tests.support.page import read_page
from tests.support.private_tokens import get_private_token


async def begin(member: httpx2.AsyncClient, query: str = "start=one-to-one") -> dict[str, str]:
    answer = await member.get(f"/event-types/new?{query}")
    assert answer.status_code == 200
    return read_fields(answer.text)


async def newest(runtime: Runtime, user: User) -> EventType:
    found, _ = await event_types.list_event_types(runtime.work(OPERATOR), user)
    return found[-1]


async def test_every_starting_point_can_be_saved_as_it_is(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    for point in STARTING_POINTS:
        assert f"/event-types/new?start={point.key}" in read_page(await member.get("/event-types/new")).addresses, point
        answer = await member.post("/event-types", data=await begin(member, f"start={point.key}"))

        assert answer.status_code == 303, (point, read_faults(answer.text))
        made = await newest(runtime, user)
        assert answer.headers["location"] == f"/event-types/{made.id}?done=made", point
        assert made.active, point
        assert (await member.get(f"/mara/{made.slug}")).status_code == 200, point


async def test_a_phone_call_asks_for_the_number(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    await member.post("/event-types?start=phone", data=await begin(member, "start=phone"))

    made = await newest(runtime, user)
    assert (made.location, made.questions) == (Location(LocationKind.PHONE, asks=LocationAsks.PHONE), ())


LINKS: list[tuple[str, list[str]]] = [
    ("Intro call", ["intro-call", "intro-call-2", "intro-call-3"]),
    ("Größe & Maß!", ["groe-ma", "groe-ma-2"]),
    ("日本語", ["meeting", "meeting-2"]),
    ("x" * 200, ["x" * 60, "x" * 60 + "-2"]),
]


async def test_without_a_typed_link_one_is_made_from_the_name(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    for name, slugs in LINKS:
        fields = {**await begin(member), "name": name}
        for slug in slugs:
            assert (await member.post("/event-types", data=fields)).status_code == 303, (name, slugs)
            assert (await newest(runtime, user)).slug == slug, (name, slugs)


async def test_a_typed_link_that_is_taken_is_a_fault(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    answer = await member.post("/event-types", data={**await begin(member), "slug": "30min", "name": "Mine"})

    assert (answer.status_code, read_faults(answer.text)) == (400, {"slug": "Is taken"})
    assert read_fields(answer.text)["name"] == "Mine"
    assert await list_names(runtime, user) == ["30 minute meeting"]


async def test_faults_are_shown_and_nothing_is_made(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    fields = {**await begin(member), "name": "", "duration": "0"}
    answer = await member.post("/event-types?start=group", data=fields)

    assert answer.status_code == 400
    assert read_faults(answer.text)["name"] == "Enter a name"
    assert 'action="/event-types?start=group"' in answer.text
    empty = await member.post("/event-types", data={"x": "y"})
    assert {"name", "duration", "schedule"} <= read_faults(empty.text).keys()
    assert await list_names(runtime, user) == ["30 minute meeting"]


async def test_the_schedule_is_one_of_ones_own(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, stranger: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        evening = await schedules.add_schedule(work, user, name="Evening")
        theirs, *_ = await schedules.list_schedules(work, stranger)
    refused = await member.post("/event-types", data={**await begin(member), "schedule": str(theirs.id)})
    await member.post("/event-types", data={**await begin(member), "name": "Late", "schedule": str(evening.id)})

    assert read_faults(refused.text) == {"schedule": "Choose one of your schedules"}
    assert await list_names(runtime, user) == ["30 minute meeting", "Late"]
    assert (await newest(runtime, user)).schedule_id == evening.id


async def test_a_new_one_can_be_private_from_the_start(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    await member.post("/event-types", data={**await begin(member), "name": "Hidden", "private": "on"})

    made = await newest(runtime, user)
    token = await get_private_token(runtime.work(OPERATOR), made)
    assert made.is_private
    assert "Hidden" not in (await member.get("/mara")).text
    assert (await member.get("/mara/hidden")).status_code == 404
    assert (await member.get(f"/mara/hidden?token={token}")).status_code == 200


async def test_a_copy_has_everything_but_the_link_and_is_made_when_saved(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    original = await offer(
        runtime, user, "rich", limits=Limits(2, 5), seats=4, questions=(Question("topic", "Topic"),), is_private=True
    )
    token = await get_private_token(runtime.work(OPERATOR), original)
    fields = await begin(member, f"from={original.id}")
    assert fields["name"] == "Rich (copy)"
    assert await list_names(runtime, user) == ["30 minute meeting", "Rich"]
    await member.post(f"/event-types?from={original.id}", data=fields)

    made = await newest(runtime, user)
    same = {"id", "name", "slug", "position", "created_at", "updated_at"}
    assert replace(made, **{field: getattr(original, field) for field in same}) == original
    assert (made.slug, made.name) == ("rich-copy", "Rich (copy)")
    assert await get_private_token(runtime.work(OPERATOR), made) != token


async def test_the_copy_of_an_archived_one_is_offered(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    original = await offer(runtime, user, "old", active=False, name="o" * 200)
    fields = await begin(member, f"from={original.id}")
    await member.post("/event-types", data=fields)

    assert (await newest(runtime, user)).active
    assert not (await load(runtime, user, original)).active


async def test_an_unknown_beginning_shows_the_choice_and_an_unknown_original_is_a_404(
    member: httpx2.AsyncClient, runtime: Runtime, stranger: User
) -> None:
    theirs = await offer(runtime, stranger, "theirs")

    assert "One-to-one" in read_page(await member.get("/event-types/new?start=paid")).headings
    for original in (theirs.id, "x", "01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e8f"):
        assert (await member.get(f"/event-types/new?from={original}")).status_code == 404


async def test_without_a_schedule_the_next_step_is_told(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await event_types.delete_event_type(work, intro)
    await runtime.pool.execute("delete from schedules where owner_id = $1", user.id)

    for path in ("/event-types/new", "/event-types/new?start=group"):
        assert "An event type needs a schedule" in read_page(await member.get(path)).text
    assert (await member.get("/event-types/new/preview")).status_code == 404
