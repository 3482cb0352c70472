"""Where a meeting is, as mail tells it: in each language, and what an invitee has typed to the host alone."""

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import ById
from openslot.domains.bookings.models import Invitee
from openslot.domains.event_types.locations import WantedLocation
from openslot.domains.event_types.models import EventType, Location, LocationAsks, LocationKind
from openslot.platform.core.work import Runtime
from openslot.platform.i18n.languages import LANGUAGES, Language
from openslot.platform.i18n.localization import get_catalog
from tests.domains.bookings.conftest import offer
from tests.domains.bookings.support import book
from tests.domains.mail.conftest import invitation, messages, part, work_off
from tests.support.clocks import MovingClock

JONAS, LI, MARA = "jonas@okafor.example", "li@okafor.example", "mara@lindqvist.example"
CALL = Location(LocationKind.PHONE, asks=LocationAsks.PHONE)
ASK = Location(LocationKind.TEXT, asks=LocationAsks.PLACE)
ROOM = Location(LocationKind.IN_PERSON, "Room 2")
NUMBER, TYPED = "+493012345678", "Free money at https://evil.example"


@pytest.fixture
async def talk(runtime: Runtime, user: User) -> EventType:
    return await offer(runtime, user, "talk", location=ROOM, locations=(ROOM, CALL, ASK))


async def read(
    runtime: Runtime, clock: MovingClock, talk: EventType, language: Language, **chosen: str
) -> dict[str, tuple[str, str]]:
    """Book with a guest, and read who is mailed what, with the location of the calendar entry."""
    await runtime.pool.execute("update users set locale = $1", language.tag)
    invitee = Invitee(name="Jonas Okafor", email=JONAS, zone="Africa/Lagos", locale=language.tag)
    await book(
        runtime,
        talk,
        which=ById(talk.id),
        invitee=invitee,
        guests=(LI,),
        location=WantedLocation(id=chosen["id"], value=chosen.get("value", "")),
    )
    await work_off(runtime, clock)
    read: dict[str, tuple[str, str]] = {}
    for address in (JONAS, LI, MARA):
        [message] = await messages(runtime, address)
        text = part(message, "text/plain")
        assert (TYPED in part(message, "text/html")) == (TYPED in text)
        read[address] = text, str(invitation(message)[1].get("location", ""))
    return read


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=lambda language: language.tag)
async def test_the_number_goes_to_the_invitee_and_the_host(
    runtime: Runtime, clock: MovingClock, user: User, talk: EventType, language: Language
) -> None:
    mails = await read(runtime, clock, talk, language, id="phone", value="+49 30 12345678")
    catalog = get_catalog(language)

    name = user.name
    assert catalog.gettext("%(name)s will call you at %(phone)s") % {"name": name, "phone": NUMBER} in mails[JONAS][0]
    assert catalog.gettext("You call %(phone)s") % {"phone": NUMBER} in mails[MARA][0]
    assert NUMBER not in mails[LI][0]
    assert {address: where for address, (_, where) in mails.items()} == {JONAS: NUMBER, LI: "", MARA: NUMBER}


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=lambda language: language.tag)
async def test_what_an_invitee_has_typed_goes_to_the_host_alone(
    runtime: Runtime, clock: MovingClock, talk: EventType, language: Language
) -> None:
    mails = await read(runtime, clock, talk, language, id="place", value=TYPED)

    assert TYPED in mails[MARA][0]
    for address in (JONAS, LI):
        assert "evil.example" not in "".join(mails[address])
        assert get_catalog(language).gettext("The place that was named in the booking") in mails[address][0]


async def test_the_chosen_place_is_told_to_all(runtime: Runtime, clock: MovingClock, talk: EventType) -> None:
    mails = await read(runtime, clock, talk, LANGUAGES["en"], id="in_person")

    assert all("Room 2" in text and where == "Room 2" for text, where in mails.values())
