"""What every calendar server keeps to, whichever vendor answers the port."""

import pytest

from openslot.integrations.calendars.errors import CalendarChanged, CalendarGone
from openslot.integrations.calendars.ports import CalendarServer, Changes
from tests.support.ical import calendar, event


def meeting(uid: str, hour: int = 9) -> str:
    return calendar(event(uid, start=f"20260316T{hour:02}0000Z", more=["DTSTAMP:20260101T000000Z", "DURATION:PT1H"]))


def known_after(changes: Changes, before: dict[str, str] | None = None) -> dict[str, str]:
    """Give what is known of a calendar once it has been read."""
    kept = {href: etag for href, etag in (before or {}).items() if href not in changes.removed}
    return kept | {each.href: each.etag for each in changes.changed}


class CalendarServerContract:
    """Inherit it, and give the two fixtures."""

    @pytest.fixture
    async def server(self) -> CalendarServer:
        """Give an account."""
        raise NotImplementedError

    @pytest.fixture
    async def place(self, server: CalendarServer) -> str:
        """Give the URL of an empty calendar named Work."""
        raise NotImplementedError

    async def test_a_calendar_is_listed_with_its_name(self, server: CalendarServer, place: str) -> None:
        found = {each.url: each for each in await server.list_calendars()}

        assert (found[place].name, found[place].can_write) == ("Work", True)

    async def test_what_was_written_is_read_back(self, server: CalendarServer, place: str) -> None:
        href = server.place_for(place, "one")
        etag = await server.put(href, meeting("one"), replaces=None)

        found = await server.find(href)

        assert found is not None
        assert (found.etag, "UID:one" in found.text) == (etag, True)
        assert await server.find(server.place_for(place, "two")) is None

    async def test_an_event_is_not_written_over_another(self, server: CalendarServer, place: str) -> None:
        href = server.place_for(place, "one")
        await server.put(href, meeting("one"), replaces=None)

        with pytest.raises(CalendarChanged):
            await server.put(href, meeting("one", 11), replaces=None)

    async def test_an_event_is_replaced_under_its_etag_alone(self, server: CalendarServer, place: str) -> None:
        href = server.place_for(place, "one")
        first = await server.put(href, meeting("one"), replaces=None)
        second = await server.put(href, meeting("one", 11), replaces=first)

        with pytest.raises(CalendarChanged):
            await server.put(href, meeting("one", 12), replaces=first)
        found = await server.find(href)
        assert found is not None
        assert (found.etag, "T110000Z" in found.text) == (second, True)

    async def test_an_event_is_deleted_under_its_etag_alone(self, server: CalendarServer, place: str) -> None:
        href = server.place_for(place, "one")
        first = await server.put(href, meeting("one"), replaces=None)
        second = await server.put(href, meeting("one", 11), replaces=first)

        with pytest.raises(CalendarChanged):
            await server.delete(href, replaces=first)
        await server.delete(href, replaces=second)
        assert await server.find(href) is None
        await server.delete(href, replaces=second)

    async def test_the_first_reading_brings_everything(self, server: CalendarServer, place: str) -> None:
        hrefs = [server.place_for(place, name) for name in ("one", "two")]
        for href in hrefs:
            await server.put(href, meeting(href.rpartition("/")[2]), replaces=None)

        changes = await server.list_changes(place, state=None, known={})

        assert sorted(each.href for each in changes.changed) == hrefs
        assert changes.removed == ()

    async def test_the_next_reading_brings_what_is_new_different_or_gone(
        self, server: CalendarServer, place: str
    ) -> None:
        names = ("same", "other", "gone")
        hrefs = {name: server.place_for(place, name) for name in names}
        etags = {name: await server.put(hrefs[name], meeting(name), replaces=None) for name in names}
        before = await server.list_changes(place, state=None, known={})
        known = known_after(before)
        hrefs["new"] = server.place_for(place, "new")
        await server.put(hrefs["other"], meeting("other", 12), replaces=etags["other"])
        await server.delete(hrefs["gone"], replaces=etags["gone"])
        await server.put(hrefs["new"], meeting("new"), replaces=None)

        changes = await server.list_changes(place, state=before.state, known=known)

        assert sorted(each.href for each in changes.changed) == sorted([hrefs["new"], hrefs["other"]])
        assert changes.removed == (hrefs["gone"],)
        again = await server.list_changes(place, state=changes.state, known=known_after(changes, known))
        assert (again.changed, again.removed) == ((), ())

    async def test_our_own_write_comes_back_with_the_etag_that_it_gave(
        self, server: CalendarServer, place: str
    ) -> None:
        before = await server.list_changes(place, state=None, known={})
        href = server.place_for(place, "one")
        etag = await server.put(href, meeting("one"), replaces=None)

        changes = await server.list_changes(place, state=before.state, known={})

        assert [(each.href, each.etag) for each in changes.changed] == [(href, etag)]
        known = await server.list_changes(place, state=before.state, known={href: etag})
        assert known.changed == ()

    async def test_a_calendar_that_is_not_there_is_a_fault_and_not_an_empty_one(
        self, server: CalendarServer, place: str
    ) -> None:
        with pytest.raises(CalendarGone):
            await server.list_changes(f"{place.rstrip('/')}x/", state=None, known={})
