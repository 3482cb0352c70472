"""Hostile CalDAV servers: whatever they answer costs a bounded number of requests and a bounded part of memory."""

import tracemalloc
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import cache
from pathlib import Path

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.calendars import operations as calendars
from openslot.domains.calendars.errors import CalendarFault, CalendarUnreachable, CalendarUnreadable
from openslot.domains.calendars.models import CalDavWanted, Credentials
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from openslot.vendors.caldav import calendars as caldav
from openslot.vendors.caldav.calendars import CalDavServer
from openslot.vendors.caldav.client import read_multistatus
from tests.support.feeds import publishing
from tests.support.ical import calendar, event, scope
from tests.support.small_internet import HERE, Site, small_internet

CALENDAR = f"https://{HERE}/team/"
ASKED = scope("2026-03-01", "2026-04-30")
OLD, NEW = (event(name, start="20260316T090000Z") for name in ("old", "new"))
REFUSED = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"
NAMESPACES = 'xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"'


def answer(body: str | bytes, *, status: str = "207 Multi-Status", kind: str = "application/xml") -> bytes:
    content = body.encode() if isinstance(body, str) else body
    head = f'HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nETag: "1"\r\nContent-Length: {len(content)}\r\n\r\n'
    return head.encode() + content


def resource(href: str, properties: str = "<D:getetag>1</D:getetag>") -> str:
    kept = f"<D:propstat><D:prop>{properties}</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>"
    return f"<D:response><D:href>{href}</D:href>{kept}</D:response>"


def multistatus(*resources: str, token: str = "", more: bool = False) -> bytes:
    rest = "<D:response><D:href>/team/</D:href><D:status>HTTP/1.1 507 More</D:status></D:response>" if more else ""
    end = f"<D:sync-token>{token}</D:sync-token>" if token else ""
    return answer(f"<D:multistatus {NAMESPACES}>{''.join(resources)}{rest}{end}</D:multistatus>")


@asynccontextmanager
async def server_at(folder: Path, site: Site) -> AsyncIterator[CalDavServer]:
    async with small_internet(folder, here=site) as (outbound, _):
        server = CalDavServer(outbound, Credentials(url=CALENDAR, username="mara", password="secret"))
        yield server
        await server.close()


@cache
def make_bomb() -> bytes:
    """Make an answer of which much would come out."""
    return zlib.compress(bytes(50_000_000), 9)


@pytest.mark.parametrize("charset", ["zlib", "zlib_codec", "bz2", "hex", "rot13", "utf-7", "idna"])
async def test_a_charset_that_is_a_compression_is_not_unpacked(tmp_path: Path, charset: str) -> None:
    site = Site(answer(make_bomb(), status="200 OK", kind=f"text/calendar; charset={charset}"))
    async with server_at(tmp_path, site) as server:
        tracemalloc.start()
        found = await server.find_own(CALENDAR, "a", ref=f"{CALENDAR}a.ics")
        _, max_ = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert found is not None
    assert max_ < 10_000_000


async def test_a_server_with_a_thousand_principals_gets_few_requests(tmp_path: Path) -> None:
    links = "".join(f"<D:href>/principals/{n}/</D:href>" for n in range(1000))
    principals = f"<D:current-user-principal>{links}</D:current-user-principal>"
    site = Site(multistatus(resource("/", principals)))
    async with server_at(tmp_path, site) as server:
        with pytest.raises(CalendarFault):
            await server.discover()
        assert len(site.requests) <= 12
        site.requests.clear()
        await server.list_addresses()
        assert len(site.requests) <= 4


async def test_a_server_that_refuses_the_second_page_is_not_asked_for_the_first_again(tmp_path: Path) -> None:
    first = multistatus(resource("/team/a.ics"), token="t", more=True)
    site = Site(*([first, REFUSED] * 50))
    async with server_at(tmp_path, site) as server:
        with pytest.raises(CalendarFault):
            await server.list_changes(CALENDAR, cursor=None, known={}, scope=ASKED)

    assert sum(request.startswith(b"REPORT") for request in site.requests) == 2


async def test_pages_without_end_are_left_at_the_most_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caldav, "MAX_OBJECTS", 5)
    pages = [
        multistatus(resource(f"/team/{n}.ics"), resource(f"/team/{n}b.ics"), token=str(n), more=True) for n in range(50)
    ]
    site = Site(*pages)
    async with server_at(tmp_path, site) as server:
        with pytest.raises(CalendarUnreadable, match="more than 5 events"):
            await server.list_changes(CALENDAR, cursor=None, known={}, scope=ASKED)

    assert len(site.requests) == 3


async def test_a_calendar_that_is_too_large_is_left_before_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caldav, "LARGEST_CALENDAR", 5 << 20)
    listed = multistatus(*(resource(f"/team/{n}.ics") for n in range(1000)), token="t")
    event = multistatus(resource("/team/1.ics", f"<C:calendar-data>{'x' * 3_000_000}</C:calendar-data>"))
    site = Site(listed, event)
    async with server_at(tmp_path, site) as server:
        with pytest.raises(CalendarUnreadable, match="more than 5 megabytes"):
            await server.list_changes(CALENDAR, cursor=None, known={}, scope=ASKED)

    assert len(site.requests) == 3


@pytest.mark.rest("measures memory")
async def test_an_object_whose_events_all_name_long_zones_takes_a_bounded_part_of_memory(tmp_path: Path) -> None:
    dates = ",".join(["19700101T000000"] * 1_900)
    part = f"BEGIN:STANDARD\nDTSTART:19700101T000000\nTZOFFSETFROM:+0500\nTZOFFSETTO:+0500\nRDATE:{dates}\nEND:STANDARD"
    zones = [f"BEGIN:VTIMEZONE\nTZID:Q{number}\n{part}\nEND:VTIMEZONE" for number in range(20)]
    named = [f"EXDATE;TZID=Q{number}:20200101T000000" for number in range(20)]
    events = [event(f"{number}", start="20260316T090000Z", more=named) for number in range(500)]
    weekly = event("weekly", start="20260316T090000Z", more=["DURATION:PT1H", "RRULE:FREQ=WEEKLY"])
    text = calendar(*zones, weekly, *events)
    assert len(text) < 2_000_000
    sent = resource("/team/a.ics", f"<D:getetag>1</D:getetag><C:calendar-data>{text}</C:calendar-data>")
    site = Site(multistatus(resource("/team/a.ics"), token="t"), multistatus(sent))
    async with server_at(tmp_path, site) as server:
        tracemalloc.start()
        (found,) = (await server.list_changes(CALENDAR, cursor=None, known={}, scope=ASKED)).changed
        _, max_ = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert found.series is not None
    assert (len(found.spans) > 0, len(found.series) < 1.1 * len(text)) == (True, True)
    assert max_ < 20_000_000


async def test_an_event_that_is_sent_twice_is_kept_once(tmp_path: Path) -> None:
    twice = [resource("/team/a.ics", f"<C:calendar-data>{text}</C:calendar-data>") for text in (OLD, NEW)]
    site = Site(multistatus(resource("/team/a.ics"), token="t"), multistatus(*twice))
    async with server_at(tmp_path, site) as server:
        changes = await server.list_changes(CALENDAR, cursor=None, known={}, scope=ASKED)

    assert [(each.ref, each.uid) for each in changes.changed] == [(f"{CALENDAR}a.ics", "new")]


async def test_a_place_with_an_endless_name_is_left_out(tmp_path: Path) -> None:
    site = Site(multistatus(resource(f"/team/{'a' * 5000}.ics"), token="t"))
    async with server_at(tmp_path, site) as server:
        assert (await server.list_changes(CALENDAR, cursor=None, known={}, scope=ASKED)).changed == ()

    assert len(site.requests) == 1


async def test_the_name_of_a_calendar_is_short_and_can_be_shown(tmp_path: Path) -> None:
    kind = "<D:resourcetype><D:collection/><C:calendar/></D:resourcetype>"
    named = f"<D:displayname>Work\u202e\n{'x' * 5000}</D:displayname>"
    site = Site(multistatus(resource("/team/", kind + named)))
    async with server_at(tmp_path, site) as server:
        (found,) = await server.list_calendars()

    assert found.name == f"Work{'x' * 196}"


def test_a_status_of_endless_digits_is_no_status() -> None:
    status = f"<D:status>HTTP/1.1 {'9' * 5000}</D:status>"
    body = f'<D:multistatus xmlns:D="DAV:"><D:response><D:href>/a</D:href>{status}</D:response></D:multistatus>'

    assert [each.status for each in read_multistatus(body.encode()).answers] == [200]


async def test_a_server_that_takes_for_ever_is_left_while_it_is_being_connected(
    runtime: Runtime, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calendars, "CONNECT_WITHIN", timedelta(milliseconds=200))
    async with publishing("") as slow:
        slow.is_open.clear()
        wanted = CalDavWanted(address=slow.url, username="mara", password="secret")
        with pytest.raises(CalendarUnreachable, match="took too long"):
            await calendars.connect_calendar(runtime.work(OPERATOR), user, wanted)
        slow.is_open.set()
