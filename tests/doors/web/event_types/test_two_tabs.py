"""Two tabs that edit one event type: the second says what the first has changed, and undoes nothing silently."""

import httpx2

from openslot.domains.accounts.models import User
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.event_types.conftest import load, offer, read_fields
from tests.support.page import read_page

CHANGED = "This event type was changed elsewhere"


async def open_tab(member: httpx2.AsyncClient, event_type: EventType) -> dict[str, str]:
    return read_fields((await member.get(f"/event-types/{event_type.id}")).text)


async def test_the_second_save_is_refused_and_tells_what_changed(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    path = f"/event-types/{intro.id}"
    first, second = await open_tab(member, intro), await open_tab(member, intro)
    await member.post(path, data={**first, "name": "From <one>", "duration": "45"})
    answer = await member.post(path, data={**second, "name": "From two", "seats": "4"})

    assert answer.status_code == 409
    assert CHANGED in read_page(answer).notices[0]
    assert "<strong>Name</strong>: now saved as “From &lt;one&gt;”. Your value is shown below" in answer.text
    assert "Duration: changed. The new value is shown below" in read_page(answer).text
    assert "<strong>Seats</strong>" not in answer.text
    shown = read_fields(answer.text)
    assert (shown["name"], shown["duration"], shown["seats"]) == ("From two", "45", "4")
    saved = await load(runtime, user, intro)
    assert (saved.name, saved.duration_minutes, saved.seats) == ("From <one>", 45, 1)


async def test_saving_again_keeps_both_changes(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    path = f"/event-types/{intro.id}"
    first, second = await open_tab(member, intro), await open_tab(member, intro)
    await member.post(path, data={**first, "seats": "4", "locations.0.kind": "phone", "locations.0.number": "+49 30 1"})
    refused = await member.post(path, data={**second, "name": "From two"})
    answer = await member.post(path, data=read_fields(refused.text))

    assert (refused.status_code, answer.status_code) == (409, 303)
    saved = await load(runtime, user, intro)
    assert (saved.name, saved.location.kind, saved.seats) == ("From two", "phone", 4)


async def test_the_same_change_twice_is_told_and_saved(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    path = f"/event-types/{intro.id}"
    first, second = await open_tab(member, intro), await open_tab(member, intro)
    await member.post(path, data={**first, "name": "Same"})
    answer = await member.post(path, data={**second, "name": "Same"})

    assert answer.status_code == 409
    assert "The other change is the same as yours" in read_page(answer).notices[0]
    assert (await member.post(path, data=read_fields(answer.text))).status_code == 303


async def test_order_archive_and_link_do_not_stand_in_the_way_of_a_save(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    other = await offer(runtime, user, "other")
    tab = await open_tab(member, intro)
    await member.post(f"/event-types/{intro.id}/move", data={"before": ""})
    await member.post(f"/event-types/{intro.id}/archive")
    await member.post(f"/event-types/{intro.id}/private")
    answer = await member.post(f"/event-types/{intro.id}", data={**tab, "name": "Renamed"})

    assert answer.status_code == 303
    saved = await load(runtime, user, intro)
    assert (saved.name, saved.active, saved.is_private) == ("Renamed", False, True)
    assert saved.position > (await load(runtime, user, other)).position


async def test_a_form_without_its_edition_never_replaces_anything(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    tab = await open_tab(member, intro)
    for edition in ("", "x", "f" * 128, "é" * 128):
        answer = await member.post(f"/event-types/{intro.id}", data={**tab, "name": "Late", "edition": edition})
        assert answer.status_code == 409
    assert (await member.post(f"/event-types/{intro.id}", data={**tab, "edition": "x" * 501})).status_code == 400
    assert await load(runtime, user, intro) == intro


async def test_a_form_of_an_event_type_that_was_deleted_is_a_404(
    member: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    tab = await open_tab(member, intro)
    async with runtime.transaction(OPERATOR) as work:
        await event_types.delete_event_type(work, intro)

    assert (await member.post(f"/event-types/{intro.id}", data=tab)).status_code == 404
