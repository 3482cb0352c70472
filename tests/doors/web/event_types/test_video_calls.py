"""Video calls with a link per booking: chosen in the editor, joined from pages, and shown to nobody else."""

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.bookings.links import manage_token
from openslot.domains.bookings.models import Booking
from openslot.domains.event_types.models import EventType, Location, LocationKind
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from tests.domains.bookings.support import book as book_publicly
from tests.doors.web.event_types.conftest import load, offer, read_faults, read_fields, save
from tests.support.clocks import MovingClock
from tests.support.effects import work_until_settled
from tests.support.fake_conferences import BY_JITSI, BY_SLOW, SERVER, SlowConference, install
from tests.support.host import cancel

CHOICE = "conference:jitsi"
OFFERED = "Video call, link made per booking (Jitsi)"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return replace(settings, jitsi_url=SERVER)


async def test_a_host_chooses_it_and_leaves_the_field_for_a_link_alone(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    page = (await member.get(f"/event-types/{intro.id}")).text
    assert OFFERED in page

    # What was typed for another choice does not count.
    saved = await save(member, intro, **{"locations.0.kind": CHOICE, "locations.0.link": "https://meet.example/mara"})
    assert saved.status_code == 303
    assert (await load(runtime, user, intro)).location == BY_JITSI
    shown = (await member.get(f"/event-types/{intro.id}")).text
    assert read_fields(shown)["locations.0.kind"] == CHOICE
    assert "https://meet.example/mara" not in shown

    link = {"locations.0.kind": "video_link", "locations.0.link": "https://meet.example/mara"}
    await save(member, intro, **link)
    expected = Location(LocationKind.VIDEO_LINK, "https://meet.example/mara")
    assert (await load(runtime, user, intro)).location == expected


@pytest.mark.parametrize("kind", ["conference:", "conference:other", "jitsi", "x" * 200, ""])
async def test_a_choice_that_is_not_offered_is_refused_at_its_field(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType, kind: str
) -> None:
    answer = await save(member, intro, **{"locations.0.kind": kind})

    assert answer.status_code == 400
    assert set(read_faults(answer.text)) == {"locations.0.kind"}
    assert (await load(runtime, user, intro)).location == intro.location


async def test_the_preview_says_video_call(member: httpx2.AsyncClient, intro: EventType) -> None:
    fields = read_fields((await member.get(f"/event-types/{intro.id}")).text)
    preview = await member.post(f"/event-types/{intro.id}/preview", data=fields | {"locations.0.kind": CHOICE})

    assert "Video call, link after booking" in preview.text
    assert SERVER not in preview.text


async def open_booking(member: httpx2.AsyncClient, runtime: Runtime, booking: Booking) -> tuple[str, str]:
    """Read the pages of a booking: the invitee's and the host's."""
    managed = await member.get(f"/manage/{manage_token(runtime, booking.id)}")
    own = await member.get(f"/bookings/{booking.id}")
    assert (managed.status_code, own.status_code) == (200, 200)
    return managed.text, own.text


async def test_invitee_and_host_join_from_their_pages_until_it_is_cancelled(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    call = await offer(runtime, user, "call", location=BY_JITSI)
    async with open_runtime(runtime.settings, clock=runtime.clock, fakes=install()) as with_jitsi:
        booking = await book_publicly(with_jitsi, call)
    link = booking.location.value
    for page in await open_booking(member, runtime, booking):
        assert f'href="{link}"' in page
        assert "Join</a>" in page
    assert f'href="{link}"' in (await member.get("/")).text
    assert link not in (await member.get("/mara/call")).text

    await cancel(runtime, booking)
    for page in await open_booking(member, runtime, booking):
        assert SERVER not in page
        assert "will be shown here" not in page


async def test_pages_say_that_a_link_follows_and_what_became_of_it(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, user: User
) -> None:
    slow = SlowConference(ready_at=1)
    async with open_runtime(runtime.settings, clock=clock, fakes=install(slow)) as opened:
        call = await offer(opened, user, "call", location=BY_SLOW)
        booking = await book_publicly(opened, call)
        for page in await open_booking(member, runtime, booking):
            assert "Video call. The link will be shown here." in page
            assert 'href=""' not in page
            assert "Join</a>" not in page
        slow.answer = "none"
        await work_until_settled(opened, clock)
    _, own = await open_booking(member, runtime, booking)

    assert "No link could be made for the video call" in own
    assert "the service has answered with something that is no link" in own
    assert "/retry/" in own


async def test_one_that_is_no_longer_set_up_stays_chosen_and_is_named(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock
) -> None:
    async with open_runtime(runtime.settings, clock=clock, fakes=install(SlowConference())) as opened:
        call = await offer(opened, user, "call", location=BY_SLOW)
    page = (await member.get(f"/event-types/{call.id}")).text
    saved = await save(member, call, name="Another name")

    assert "Video call, link made per booking (no longer set up)" in page
    assert saved.status_code == 303
    changed = await load(runtime, user, call)
    assert (changed.name, changed.location) == ("Another name", BY_SLOW)
