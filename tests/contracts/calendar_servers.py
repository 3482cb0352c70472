"""What every calendar server keeps to, whichever vendor answers the port."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Protocol
from uuid import UUID

import msgspec
import pytest

from openslot.domains.availability.grid import merge
from openslot.domains.calendars.errors import CalendarChanged, CalendarGone
from openslot.domains.calendars.ports import CalendarServer, Changes, KeptSeries, RemoteEvent, Scope
from openslot.domains.mail.calendar_entry import CalendarEntry
from openslot.domains.mail.models import MailAddress
from openslot.platform.core.times import at_second
from tests.support.ical import calendar, event, scope

NINE = datetime(2026, 3, 16, 9, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
SCOPE = scope("2026-03-15", "2026-03-20")
TWO_DAYS_LATER = scope("2026-03-17", "2026-03-22")
OWN = UUID("01957fd6-5d3f-7c54-9a3e-1c1a1a5b7c11")

Span = tuple[datetime, datetime]


class Account(Protocol):
    """An account with one calendar named Work, empty at first, and what its owner's own program does to it."""

    calendar: str

    @property
    def server(self) -> CalendarServer: ...

    async def write(
        self, name: str, starts_at: datetime = NINE, *, daily: int = 1, is_free: bool = False, is_all_day: bool = False
    ) -> None:
        """Write an event of one hour or one day, which may repeat daily, in place of the one with this name."""
        ...

    async def delete(self, name: str) -> None: ...

    async def move(self, ref: str, starts_at: datetime) -> None:
        """Give an event of ours another hour."""
        ...

    async def lose(self) -> str:
        """Name a calendar that is not there."""
        ...


def write_ical(name: str, starts_at: datetime, *, daily: int, is_free: bool, is_all_day: bool) -> str:
    """Write what an owner's program writes, as iCalendar."""
    more = ["DTSTAMP:20260101T000000Z", f"DURATION:{'P1D' if is_all_day else 'PT1H'}"]
    more += [f"RRULE:FREQ=DAILY;COUNT={daily}"] if daily > 1 else []
    more += ["TRANSP:TRANSPARENT"] if is_free else []
    start = f"VALUE=DATE:{starts_at:%Y%m%d}" if is_all_day else f"{starts_at:%Y%m%dT%H%M%SZ}"
    return calendar(event(name, start=start, more=more))


def own_event(starts_at: datetime = NINE, *, sequence: int = 0) -> CalendarEntry:
    """Describe a booking."""
    return CalendarEntry(
        uid=f"{OWN}@openslot",
        sequence=sequence,
        starts_at=starts_at,
        ends_at=starts_at + HOUR,
        summary="Intro: Jonas Okafor",
        description="Jonas Okafor <jonas@okafor.example>",
        location="Room 4",
        url="https://openslot.example/bookings/1",
        organizer=MailAddress("mara@openslot.example", "Mara"),
        attendees=(),
        created_at=NINE - DAY,
        updated_at=NINE - DAY,
        is_kept_by_server=True,
    )


class Reading:
    """What a sync keeps of a calendar: it knows what it has read."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.events: dict[str, RemoteEvent] = {}
        self.cursor: str | None = None

    @property
    def known(self) -> Mapping[str, str]:
        return {ref: event.version for ref, event in self.events.items()}

    @property
    def busy(self) -> list[Span]:
        spans = merge(span for each in self.events.values() for span in each.spans)
        return [(at_second(start), at_second(end)) for start, end in spans]

    async def read(self, asked: Scope = SCOPE) -> Changes:
        changes = await self.account.server.list_changes(
            self.account.calendar, cursor=self.cursor, known=self.known, scope=asked
        )
        self.cursor = changes.cursor
        self.events |= {each.ref: each for each in changes.changed}
        for ref in changes.removed:
            self.events.pop(ref, None)
        return changes

    async def expand(self, asked: Scope) -> None:
        """Do what the sync does once a day."""
        await self.read(asked)
        kept = [KeptSeries(ref, each.series) for ref, each in self.events.items() if each.series is not None]
        for found in await self.account.server.expand(kept, asked):
            self.events[found.ref] = msgspec.structs.replace(found, version=self.events[found.ref].version)


class ReadingContract:
    """Inherit it, and give an account."""

    @pytest.fixture
    async def account(self) -> Account:
        """Give an account with a calendar."""
        raise NotImplementedError

    @pytest.fixture
    def reading(self, account: Account) -> Reading:
        """Know nothing yet."""
        return Reading(account)

    async def test_a_calendar_is_listed_with_its_name(self, account: Account) -> None:
        found = {each.ref: each for each in await account.server.list_calendars()}

        assert found[account.calendar].name == "Work"

    async def test_the_first_reading_brings_everything(self, account: Account, reading: Reading) -> None:
        await account.write("one")
        await account.write("two", NINE + 3 * HOUR)

        changes = await reading.read()

        assert reading.busy == [(NINE, NINE + HOUR), (NINE + 3 * HOUR, NINE + 4 * HOUR)]
        assert (len(changes.changed), changes.removed) == (2, ())
        assert [each.starts_at for each in changes.changed if each.starts_at == NINE] == [NINE]

    async def test_the_next_reading_brings_what_is_new_different_or_gone(
        self, account: Account, reading: Reading
    ) -> None:
        for hour, name in enumerate(("same", "other", "gone")):
            await account.write(name, NINE + 2 * hour * HOUR)
        await reading.read()
        await account.write("other", NINE + 8 * HOUR)
        await account.delete("gone")
        await account.write("new", NINE + 10 * HOUR)

        changes = await reading.read()

        assert (len(changes.changed), len(changes.removed)) == (2, 1)
        assert [start for start, _ in reading.busy] == [NINE, NINE + 8 * HOUR, NINE + 10 * HOUR]
        again = await reading.read()
        assert (again.changed, again.removed) == ((), ())

    async def test_without_a_cursor_everything_is_compared_with_what_is_known(
        self, account: Account, reading: Reading
    ) -> None:
        await account.write("same")
        await account.write("gone", NINE + 2 * HOUR)
        await reading.read()
        await account.delete("gone")
        reading.cursor = None

        changes = await reading.read()

        assert (changes.changed, len(changes.removed)) == ((), 1)
        assert reading.busy == [(NINE, NINE + HOUR)]

    async def test_a_series_is_busy_on_each_of_its_days(self, account: Account, reading: Reading) -> None:
        await account.write("daily", daily=3)

        await reading.read()

        assert reading.busy == [(NINE + day * DAY, NINE + day * DAY + HOUR) for day in range(3)]
        assert [each.starts_at for each in reading.events.values() if each.starts_at is not None] == []

    async def test_a_series_is_busy_on_days_that_come_within_the_scope(
        self, account: Account, reading: Reading
    ) -> None:
        await account.write("daily", daily=30)
        await reading.read()
        assert reading.busy[-1][0] == NINE + 3 * DAY

        await reading.expand(TWO_DAYS_LATER)

        assert reading.busy[-1][0] == NINE + 5 * DAY

    async def test_what_is_free_keeps_nobody_busy(self, account: Account, reading: Reading) -> None:
        await account.write("free", is_free=True)

        await reading.read()

        assert (len(reading.events), reading.busy) == (1, [])

    async def test_a_whole_day_is_the_hosts_own(self, account: Account, reading: Reading) -> None:
        await account.write("day", is_all_day=True)

        await reading.read()

        assert reading.busy == [(NINE - 10 * HOUR, NINE + 14 * HOUR)]

    async def test_a_calendar_that_is_not_there_is_a_fault_and_not_an_empty_one(
        self, account: Account, reading: Reading
    ) -> None:
        account.calendar = await account.lose()

        with pytest.raises(CalendarGone):
            await reading.read()


class WritingContract(ReadingContract):
    """For calendars that bookings can be written into."""

    async def test_a_calendar_that_can_be_written_to_says_so(self, account: Account) -> None:
        found = {each.ref: each for each in await account.server.list_calendars()}

        assert found[account.calendar].can_write

    async def test_what_was_written_is_found_by_its_place_and_by_its_uid(self, account: Account) -> None:
        written = own_event()
        stored = await account.server.put(account.calendar, written, ref=None, replaces=None)

        assert stored.uid == written.uid
        assert await account.server.find_own(account.calendar, written.uid, ref=stored.ref) == stored
        assert await account.server.find_own(account.calendar, written.uid, ref=None) == stored
        other = f"{OWN.hex[::-1]}@openslot"
        assert await account.server.find_own(account.calendar, other, ref=None) is None

    async def test_an_event_is_not_written_twice(self, account: Account, reading: Reading) -> None:
        await account.server.put(account.calendar, own_event(), ref=None, replaces=None)

        with pytest.raises(CalendarChanged):
            await account.server.put(account.calendar, own_event(NINE + HOUR), ref=None, replaces=None)
        await reading.read()
        assert reading.busy == [(NINE, NINE + HOUR)]

    async def test_an_event_is_replaced_under_its_version_alone(self, account: Account, reading: Reading) -> None:
        first = await account.server.put(account.calendar, own_event(), ref=None, replaces=None)
        second = await account.server.put(
            account.calendar, own_event(NINE + HOUR, sequence=1), ref=first.ref, replaces=first.version
        )

        with pytest.raises(CalendarChanged):
            await account.server.put(
                account.calendar, own_event(NINE + 2 * HOUR, sequence=2), ref=first.ref, replaces=first.version
            )
        await reading.read()
        (found,) = reading.events.values()
        assert (found.ref, found.version, found.starts_at) == (first.ref, second.version, NINE + HOUR)

    async def test_an_event_is_deleted_under_its_version_alone(self, account: Account) -> None:
        first = await account.server.put(account.calendar, own_event(), ref=None, replaces=None)
        second = await account.server.put(
            account.calendar, own_event(NINE + HOUR, sequence=1), ref=first.ref, replaces=first.version
        )

        with pytest.raises(CalendarChanged):
            await account.server.delete(account.calendar, first.ref, replaces=first.version)
        await account.server.delete(account.calendar, first.ref, replaces=second.version)
        assert await account.server.find_own(account.calendar, first.uid, ref=first.ref) is None
        await account.server.delete(account.calendar, first.ref, replaces=second.version)

    async def test_an_event_that_was_deleted_is_written_again(self, account: Account, reading: Reading) -> None:
        first = await account.server.put(account.calendar, own_event(), ref=None, replaces=None)
        await reading.read()
        await account.server.delete(account.calendar, first.ref, replaces=first.version)
        assert (await reading.read()).removed == (first.ref,)

        await account.server.put(account.calendar, own_event(NINE + HOUR), ref=first.ref, replaces=None)

        await reading.read()
        assert reading.busy == [(NINE + HOUR, NINE + 2 * HOUR)]

    async def test_our_own_write_comes_back_with_its_version_and_its_uid(
        self, account: Account, reading: Reading
    ) -> None:
        await reading.read()
        stored = await account.server.put(account.calendar, own_event(), ref=None, replaces=None)

        changes = await reading.read()

        (found,) = changes.changed
        assert (found.ref, found.version, found.uid) == (stored.ref, stored.version, stored.uid)
        assert (found.starts_at, found.ends_at, found.is_live) == (NINE, NINE + HOUR, True)

    async def test_a_move_by_the_owner_comes_with_another_version(self, account: Account, reading: Reading) -> None:
        stored = await account.server.put(account.calendar, own_event(), ref=None, replaces=None)
        await reading.read()
        await account.move(stored.ref, NINE + 2 * HOUR)

        (found,) = (await reading.read()).changed

        assert (found.ref, found.uid, found.starts_at) == (stored.ref, stored.uid, NINE + 2 * HOUR)
        assert found.version != stored.version
