"""A calendar is found from what a person types, and nothing that a server says leads past the guard."""

import base64
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.calendars import operations as calendars
from openslot.domains.calendars.errors import (
    CalendarFault,
    CalendarSignInFailed,
    CalendarUnreadable,
    NoSuchCalendar,
    TooManyConnections,
)
from openslot.domains.calendars.models import CalDavWanted, Credentials, IcsWanted
from openslot.domains.calendars.rules import read_address
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Invalid, Refusal
from openslot.platform.core.outbound import Outbound
from openslot.platform.core.work import Runtime
from openslot.vendors.caldav.calendars import CalDavServer
from openslot.vendors.caldav.client import DavClient, read_multistatus
from tests.domains.calendars.conftest import Connect, change, get
from tests.support.hostile_urls import SHAPES
from tests.support.peers import serve
from tests.support.radicale import PASSWORD, USER, Radicale
from tests.support.small_internet import HERE, THERE, Site, small_internet

Refused = Callable[..., Awaitable[None]]


@pytest.mark.parametrize("path", ["/", f"/{USER}/", "/.well-known/caldav", "/nowhere/at/all", ""])
async def test_calendars_are_found_from_any_address_of_the_server(
    radicale: Radicale, work_calendar: str, connect: Connect, path: str
) -> None:
    connection = await connect(f"{radicale.url}{path}")

    assert work_calendar in {calendar.url for calendar in connection.calendars}
    assert sum(calendar.receives for calendar in connection.calendars) == 1


async def test_the_url_of_a_calendar_connects_that_calendar_alone(
    radicale: Radicale, work_calendar: str, connect: Connect
) -> None:
    await radicale.add_calendar("Another")

    assert [calendar.url for calendar in (await connect(work_calendar)).calendars] == [work_calendar]


def test_an_address_is_read_as_a_person_means_it() -> None:
    assert read_address("mara@lindqvist.example") == "https://lindqvist.example/.well-known/caldav"
    assert read_address("dav.lindqvist.example") == "https://dav.lindqvist.example"
    assert read_address("http://dav.example/a") == "http://dav.example/a"


async def test_a_wrong_password_is_told_and_nothing_is_kept(
    runtime: Runtime, work_calendar: str, connect: Connect
) -> None:
    with pytest.raises(CalendarSignInFailed):
        await connect(work_calendar, password="wrong")

    assert await runtime.pool.fetchval("select count(*) from calendar_connections") == 0


async def test_a_password_is_kept_sealed_and_told_nowhere(
    runtime: Runtime, work_calendar: str, connect: Connect
) -> None:
    await connect(work_calendar)

    rows = [dict(row) for row in await runtime.pool.fetch("select * from calendar_connections")]
    assert PASSWORD.encode() not in rows[0].pop("secret")
    assert PASSWORD not in str(rows)
    facts = await runtime.pool.fetch("select fact from events")
    assert not any(PASSWORD in row["fact"] for row in facts)


async def test_no_hostile_url_is_connected_to(runtime: Runtime, user: User) -> None:
    async with serve() as canary:
        strict = Outbound()
        runtime.outbound, kept = strict, runtime.outbound
        try:
            for _, shape in SHAPES:
                url = shape.replace("{port}", str(canary.port))
                for wanted in (IcsWanted(url), CalDavWanted(address=url, username="a", password="b")):
                    with pytest.raises(Refusal):
                        await calendars.connect_calendar(runtime.work(OPERATOR), user, wanted)
        finally:
            runtime.outbound = kept
            await strict.close()
        assert canary.connections == 0
    assert await runtime.pool.fetchval("select count(*) from calendar_connections") == 0


def redirect_to(place: str, status: int = 302) -> bytes:
    return f"HTTP/1.1 {status} Found\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n".encode()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_the_method_stays_and_the_password_does_not_follow_a_redirect_to_another_origin(
    tmp_path: Path, status: int
) -> None:
    async with small_internet(tmp_path, here=Site(redirect_to(f"https://{THERE}/dav/", status))) as (outbound, world):
        server = CalDavServer(outbound, Credentials(url=f"https://{HERE}/", username="mara", password="secret"))
        with pytest.raises(CalendarFault):
            await server.discover()
        await server.close()
    secret = base64.b64encode(b"mara:secret")
    assert world.there.requests
    assert all(request.startswith(b"PROPFIND ") for request in world.there.requests)
    assert all(secret in request for request in world.here.requests)
    assert not any(b"authorization" in request.lower() for request in world.there.requests)


@pytest.mark.parametrize(
    "place", ["http://127.0.0.1/", "https://localhost/", "https://10.0.0.1/", "file:///etc/passwd"]
)
async def test_a_redirect_to_a_private_address_is_refused(tmp_path: Path, place: str) -> None:
    async with small_internet(tmp_path, here=Site(redirect_to(place))) as (outbound, world):
        server = CalDavServer(outbound, Credentials(url=f"https://{HERE}/", username="mara", password="secret"))
        with pytest.raises(CalendarFault):
            await server.discover()
        await server.close()
        assert set(world.looked_up) == {HERE}


def multistatus(home: str) -> bytes:
    body = f"""<D:multistatus xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:response><D:href>/</D:href>
<D:propstat><D:prop><C:calendar-home-set><D:href>{home}</D:href></C:calendar-home-set></D:prop>
<D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response></D:multistatus>"""
    return f"HTTP/1.1 207 Multi-Status\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


@pytest.mark.parametrize(
    ("home", "found"),
    [
        ("/calendars/", f"https://{HERE}/calendars/"),
        (f"https://{THERE}/mara/", f"https://{THERE}/mara/"),
        ("https://stranger.example.net/", None),
        (f"http://{HERE}/", None),
        ("https://[::1/", None),
    ],
)
async def test_a_home_is_taken_from_the_server_and_its_neighbours_alone(
    tmp_path: Path, home: str, found: str | None
) -> None:
    async with small_internet(tmp_path, here=Site(multistatus(home))) as (outbound, world):
        server = CalDavServer(outbound, Credentials(url=f"https://{HERE}/", username="mara", password="secret"))
        if found is None:
            with pytest.raises(CalendarFault):
                await server.discover()
        else:
            assert (await server.discover()).url == found
        await server.close()
        assert set(world.looked_up) == {HERE}


LAUGHS = b"""<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>
<D:multistatus xmlns:D="DAV:">&b;</D:multistatus>"""
DOCTYPE = b"""<?xml version="1.0"?><!DOCTYPE a><D:multistatus xmlns:D="DAV:"/>"""
FILE = b"""<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/passwd">]><a>&a;</a>"""


@pytest.mark.parametrize(
    "body", [LAUGHS, FILE, DOCTYPE, LAUGHS.decode().encode("utf-16"), b"", b"<html/>", b"<a", b"\xff\xfe\x00", b"{}"]
)
def test_xml_with_entities_or_none_at_all_is_unreadable(body: bytes) -> None:
    with pytest.raises(CalendarUnreadable):
        read_multistatus(body)


@pytest.mark.parametrize(
    ("url", "is_trusted"),
    [
        ("https://caldav.icloud.example/a/", True),
        ("https://p42-caldav.icloud.example/a/", True),
        ("http://p42-caldav.icloud.example/a/", False),
        ("https://icloud.example.evil.example/", False),
        ("https://evil.example/", False),
        ("https://127.0.0.1/", False),
    ],
)
async def test_the_password_goes_to_the_server_and_its_neighbours_alone(url: str, is_trusted: bool) -> None:
    outbound = Outbound()
    client = DavClient(outbound, Credentials(url="https://caldav.icloud.example/", username="a", password="b"))

    assert client.trust(url) is is_trusted
    await client.close()
    await outbound.close()


async def test_two_hosts_of_a_whole_top_level_domain_are_no_neighbours() -> None:
    outbound = Outbound()
    client = DavClient(outbound, Credentials(url="https://mine.example/", username="a", password="b"))

    assert not client.trust("https://yours.example/")
    await client.close()
    await outbound.close()


async def test_settings_are_checked(runtime: Runtime, work_calendar: str, connect: Connect) -> None:
    connection = await connect(work_calendar)
    with pytest.raises(NoSuchCalendar):
        await change(runtime, connection, busy=("Nope",))
    with pytest.raises(NoSuchCalendar):
        await change(runtime, connection, write_to="Nope")
    for policy in ("trust", "trust:0", "trust:9999", "trust:-1", "open", ""):
        with pytest.raises(Invalid):
            await change(runtime, connection, when_unreadable=policy)
    assert await get(runtime, connection) == connection


async def test_a_user_has_so_many_connections_and_no_more(
    runtime: Runtime, work_calendar: str, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calendars, "MAX_CONNECTIONS", 1)
    await connect(work_calendar)
    with pytest.raises(TooManyConnections):
        await connect(work_calendar)


async def test_one_calendar_of_a_user_receives_bookings(
    runtime: Runtime, radicale: Radicale, work_calendar: str, connect: Connect
) -> None:
    first = await connect(work_calendar)
    second = await connect(await radicale.add_calendar("Second"))
    assert [calendar.receives for calendar in (*first.calendars, *second.calendars)] == [True, False]

    await change(runtime, second, write_to="Second")

    both = [*(await get(runtime, first)).calendars, *(await get(runtime, second)).calendars]
    assert [calendar.receives for calendar in both] == [False, True]
