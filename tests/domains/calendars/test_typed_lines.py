"""What people type stays inside of its line: in the calendar that is mailed, in the feed, and in the host's own."""

import re

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import BySlug
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingWanted, Invitee
from openslot.domains.calendars import booking_events
from openslot.domains.event_types.models import Location, LocationKind
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.domains.calendars.conftest import HOUR, NINE, Connect, work_off
from tests.domains.mail.conftest import messages
from tests.support.clocks import MovingClock
from tests.support.radicale import Radicale

JONAS, LI, MARA = "jonas@okafor.example", "li@okafor.example", "mara@lindqvist.example"
LINE = re.compile(r'([A-Z-]+)((?:;[A-Z-]+=(?:"[^"]*"|[^";:,]*))*):(.*)')
# What a program could take for the end of a line, or of a value.
UNSEEN = re.compile(r"(?<!\r)\n|\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
SPY = "ATTENDEE:mailto:spy@evil.example"
TYPED = {
    "a line break": f"Hello\r\n{SPY}",
    "a line feed": f"Hello\n{SPY}",
    "a carriage return": f"Hello\r{SPY}",
    "a folded line": f"Hello\r\n \r\n{SPY}",
    "other ends of lines": f"Hello\x0b{SPY}\x0c{SPY}\x85{SPY}\u2028{SPY}\u2029{SPY}",
    "an escaped line break": f"Hello\\n{SPY}\\r\\n{SPY}\\",
    "the end of an event": "Hello\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nUID:spy\r\nEND:VEVENT\r\nEND:VCALENDAR",
    "parameters": 'Hello";X-SPY=yes:mailto:spy@evil.example;X-SPY="yes',
    "separators": "Hello;X-SPY=yes,X-SPY=no:mailto:spy@evil.example",
    "escaped as parameters are": f"Hello^n{SPY}^'^^",
}


def list_properties(calendar: str) -> list[str]:
    """List a calendar's properties as a strict reader finds them, each with the names of its parameters.

    A name that could be taken for an address is left out, so it is not looked at whether somebody has one.
    """
    assert UNSEEN.search(calendar) is None
    lines = calendar.replace("\r\n ", "").removesuffix("\r\n").split("\r\n")
    found = [LINE.fullmatch(line) for line in lines]
    assert None not in found, lines
    return sorted(
        f"{each[1]}:{each[3]}"
        if each[1] in {"BEGIN", "END"}
        else each[1] + re.sub('="[^"]*"|=[^;]*', "", each[2]).replace(";CN", "")
        for each in found
        if each is not None
    )


@pytest.fixture
async def url(runtime: Runtime, user: User) -> str:
    """The link to the host's feed."""
    async with runtime.transaction(OPERATOR) as work:
        return f"/feed{(await booking_events.renew_feed(work, user)).partition('/feed')[2]}"


@pytest.mark.parametrize("typed", TYPED.values(), ids=TYPED)
async def test_no_text_becomes_a_line_of_any_calendar(
    *,
    runtime: Runtime,
    clock: MovingClock,
    user: User,
    client: httpx2.AsyncClient,
    radicale: Radicale,
    work_calendar: str,
    connect: Connect,
    url: str,
    typed: str,
) -> None:
    await connect(work_calendar)
    talk = await offer(runtime, user, "talk", location=Location(LocationKind.TEXT, "Room 2"))

    async def book_and_read(hour: int, text: str) -> dict[str, str]:
        invitee = Invitee(name="Hello", email=JONAS, zone="Africa/Lagos")
        wanted = BookingWanted(
            which=BySlug(user.id, talk.slug), starts_at=NINE + hour * HOUR, invitee=invitee, guests=(LI,), notes="Hello"
        )
        async with runtime.transaction(PUBLIC) as work:
            booking = await bookings.create_booking(work, wanted)
        # As if every check before had let it in.
        await runtime.pool.execute(
            """update bookings set invitee_name = $2, notes = $2,
                location = jsonb_set(location, '{value}', to_jsonb($2::text)) where id = $1""",
            booking.id,
            text,
        )
        await work_off(runtime, clock)
        return await read_calendars(booking)

    async def read_calendars(booking: Booking) -> dict[str, str]:
        found = {}
        for address in (JONAS, LI, MARA):
            parts = (await messages(runtime, address))[-1].walk()
            mailed = next(part for part in parts if part.get_content_type() == "text/calendar")
            found[address] = mailed.get_payload(decode=True).decode()  # type: ignore[union-attr]
        found["feed"] = (await client.get(url)).text
        found["own"] = (await radicale.send("GET", f"{work_calendar}{booking.id}.ics")).text
        return found

    plain = await book_and_read(1, "Hello")
    await runtime.pool.execute("delete from bookings")
    await runtime.pool.execute("update users set name = $1", typed)
    await runtime.pool.execute("update event_types set name = $1", typed)
    hostile = await book_and_read(3, typed)

    assert set(plain) == {JONAS, LI, MARA, "feed", "own"}
    for place, written in hostile.items():
        assert list_properties(written) == list_properties(plain[place]), place
        assert written != plain[place]
