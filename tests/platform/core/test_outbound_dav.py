"""The requests of CalDAV go through a guarded client, tried on a real server."""

import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path
from uuid import uuid4

import httpx2
import pytest

from openslot.platform.core.outbound import (
    FailureKind,
    Outbound,
    OutboundFailed,
    OutboundReason,
    OutboundRefused,
    RequestLimits,
)
from tests.support.ports import held_port

LOOPBACK = (ip_network("127.0.0.0/8"),)
USER, PASSWORD = "host", "correct horse"

MAKE_CALENDAR = """<?xml version="1.0"?>
<C:mkcalendar xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">
  <D:set><D:prop><D:displayname>Café</D:displayname></D:prop></D:set>
</C:mkcalendar>"""
FIND_NAME = """<?xml version="1.0"?>
<D:propfind xmlns:D="DAV:"><D:prop><D:displayname/><D:getetag/></D:prop></D:propfind>"""
FIND_EVENTS = """<?xml version="1.0"?>
<C:calendar-query xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">
  <D:prop><D:getetag/><C:calendar-data/></D:prop>
  <C:filter><C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT">
    <C:time-range start="20260316T000000Z" end="20260317T000000Z"/>
  </C:comp-filter></C:comp-filter></C:filter>
</C:calendar-query>"""


def event(uid: str, *, day: int = 16, notes: str = "") -> str:
    return (
        f"BEGIN:VEVENT\r\nUID:{uid}\r\nDTSTAMP:20260101T000000Z\r\nDTSTART:202603{day}T090000Z\r\n"
        f"DTEND:202603{day}T093000Z\r\nSUMMARY:Busy\r\nDESCRIPTION:{notes}\r\nEND:VEVENT\r\n"
    )


def calendar(*events: str) -> bytes:
    return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Test//EN\r\n{''.join(events)}END:VCALENDAR\r\n".encode()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run Radicale on a free port and give its URL."""
    folder: Path = tmp_path_factory.mktemp("radicale")
    (folder / "users").write_text(f"{USER}:{PASSWORD}\n")
    with held_port() as port:
        yield from serve_calendars(folder, port)


def serve_calendars(folder: Path, port: int) -> Iterator[str]:
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "radicale", "--config", "", "--server-hosts", f"127.0.0.1:{port}"),
            *("--storage-filesystem-folder", str(folder / "data"), "--auth-type", "htpasswd"),
            *("--auth-htpasswd-filename", str(folder / "users"), "--auth-htpasswd-encryption", "plain"),
            *("--auth-delay", "0", "--logging-level", "critical"),
        ],
        cwd=folder,
    )
    try:
        wait_for(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    started = time.monotonic()
    while process.poll() is None and time.monotonic() - started < 60:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    pytest.fail("Radicale did not start")


def dav(limits: RequestLimits | None = None, *, password: str = PASSWORD) -> httpx2.AsyncClient:
    auth = httpx2.BasicAuth(USER, password)
    return Outbound(allow=LOOPBACK).client(auth=auth, follow_redirects=True, limits=limits or RequestLimits())


async def make_calendar(client: httpx2.AsyncClient, server: str) -> str:
    url = f"{server}/{USER}/{uuid4()}/"
    made = await client.request("MKCALENDAR", url, content=MAKE_CALENDAR.encode())
    assert made.status_code == 201
    return url


async def test_a_calendar_is_found_by_its_name(server: str) -> None:
    async with dav() as client:
        url = await make_calendar(client, server)
        found = await client.request("PROPFIND", url, content=FIND_NAME.encode(), headers={"Depth": "0"})
    assert found.status_code == 207
    assert "<displayname>Café</displayname>" in found.text


async def test_an_event_is_written_found_changed_and_deleted_under_its_etag(server: str) -> None:
    async with dav() as client:
        home = await make_calendar(client, server)
        url = f"{home}one.ics"
        written = await client.put(url, content=calendar(event("one")), headers={"If-None-Match": "*"})
        etag = written.headers["etag"]
        again = await client.put(url, content=calendar(event("one")), headers={"If-None-Match": "*"})
        assert (written.status_code, again.status_code) == (201, 412)

        found = await client.request("REPORT", home, content=FIND_EVENTS.encode(), headers={"Depth": "1"})
        assert found.status_code == 207
        assert ("UID:one" in found.text, etag.strip('"') in found.text) == (True, True)

        moved = calendar(event("one", day=18))
        assert (await client.put(url, content=moved, headers={"If-Match": '"stale"'})).status_code == 412
        assert (await client.put(url, content=moved, headers={"If-Match": etag})).is_success
        found = await client.request("REPORT", home, content=FIND_EVENTS.encode(), headers={"Depth": "1"})
        assert "UID:one" not in found.text

        assert (await client.delete(url, headers={"If-Match": etag})).status_code == 412
        assert (await client.delete(url)).is_success
        assert (await client.get(url)).status_code == 404


async def test_a_large_response_comes_whole_and_one_past_the_bound_fails(server: str) -> None:
    events = [event(f"uid-{number}", notes="x" * 100_000) for number in range(8)]
    async with dav() as client:
        url = await make_calendar(client, server)
        kept = await client.put(url, content=calendar(*events), headers={"Content-Type": "text/calendar"})
        assert kept.status_code == 201
        found = await client.request("REPORT", url, content=FIND_EVENTS.encode(), headers={"Depth": "1"})
    assert (found.status_code, len(found.content) > 750_000) == (207, True)
    assert len(set(re.findall(r"UID:(uid-\d+)", found.text))) == 8

    async with dav(RequestLimits(at_most=500_000)) as client:
        with pytest.raises(OutboundFailed, match="sent more than 500000 bytes") as failed:
            await client.request("REPORT", url, content=FIND_EVENTS.encode(), headers={"Depth": "1"})
    assert failed.value.kind is FailureKind.TOO_LARGE


async def test_the_well_known_address_leads_to_the_calendars(server: str) -> None:
    async with dav() as client:
        found = await client.request("PROPFIND", f"{server}/.well-known/caldav", content=FIND_NAME.encode())
    assert (found.status_code, len(found.history), found.request.method) == (207, 1, "PROPFIND")


async def test_a_wrong_password_is_told_by_the_server(server: str) -> None:
    async with dav(password="wrong") as client:
        assert (await client.request("PROPFIND", f"{server}/{USER}/")).status_code == 401


async def test_a_server_outside_the_allowed_networks_is_not_asked(server: str) -> None:
    async with Outbound().client() as client:
        with pytest.raises(OutboundRefused) as refused:
            await client.request("PROPFIND", f"{server}/{USER}/")
    assert refused.value.reason is OutboundReason.ADDRESS
