"""The link that changes a booking is the invitee's: everyone else gets the dashboard, which asks who they are."""

import ast
import io
import re
import sys
import zipfile
from email import message_from_bytes, policy

import httpx2
import icalendar
import pytest
import structlog
from structlog.typing import Processor

from openslot.domains.accounts.models import User
from openslot.domains.bookings.links import manage_token
from openslot.domains.calendars import booking_events
from openslot.domains.calendars.sync import sync_connection
from openslot.domains.event_types.models import EventType
from openslot.domains.exports import operations as exports
from openslot.domains.exports.archives import make_export
from openslot.domains.mail.models import KeptMail
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.domains.calendars.conftest import Connect, connect, radicale, work_calendar
from tests.domains.mail.conftest import mails
from tests.doors.agents.tools.conftest import Run, run
from tests.hostile.support import find_in_dump
from tests.support.bookings import public_body
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import clock, open_session, settings
from tests.support.radicale import Radicale
from tests.support.sources import PACKAGE, list_modules, parse, read_source

__all__ = ["clock", "connect", "radicale", "run", "settings", "work_calendar"]

INVITEE, GUEST = "li@wei.example", "guest@wei.example"
ONE = "2026-03-16T13:00:00Z"
# Who may know the link: the invitee by answers, pages and mails, and by the contract the host's own programs.
MAY_WRITE_LINKS = {
    # The assistant of whoever books.
    "openslot.doors.public_tools.booking",
    "openslot.domains.bookings.api",
    "openslot.domains.bookings.events",
    "openslot.domains.mail.letters",
    # To the invitee alone; the host gets the link to the dashboard.
    "openslot.domains.mail.kinds.requests",
    # Answers to messages about a booking go to the phone that was reminded of it.
    "openslot.domains.messaging.sending",
    # The provider of payments leads the invitee back to it.
    "openslot.domains.payments.operations",
    "openslot.domains.payments.public_api",
    # The page of the link itself: whoever reads it has the link.
    "openslot.doors.web.booking_page.manage",
    "openslot.doors.web.booking_page.requested",
    "openslot.doors.web.shared.booking_view",
    "openslot.domains.webhooks.schemas",
}
WRITERS = {
    "begin_manage_url",
    "calendar_url",
    "fill_manage_url",
    "list_manage_urls",
    "manage_token",
    "manage_url",
}

NAMES_LINKS = re.compile(r"\bbookings\.links\b|\bbookings\s+import\b|^\s*from \.", re.MULTILINE)

Seen = dict[str, str]


@pytest.fixture
async def meeting(runtime: Runtime, user: User) -> EventType:
    """What is booked."""
    return await offer(runtime, user, "meeting")


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Collect what every module logs, at every level."""
    stream = io.StringIO()
    processors: list[Processor] = [structlog.contextvars.merge_contextvars, structlog.processors.JSONRenderer()]
    everything = structlog.make_filtering_bound_logger(0)
    logger = structlog.wrap_logger(structlog.PrintLogger(stream), processors=processors, wrapper_class=everything)
    for name, module in list(sys.modules.items()):
        if name.startswith("openslot.") and isinstance(getattr(module, "log", None), type(structlog.get_logger())):
            monkeypatch.setattr(module, "log", logger)
    return stream


async def read_mails(runtime: Runtime) -> list[tuple[KeptMail, str]]:
    """Read every message of the mailbox with all of its parts as text, decoded and unfolded."""
    found = []
    for kept in await mails(runtime):
        row = await runtime.pool.fetchrow("select content from mail_messages where id = $1", kept.id)
        assert row is not None
        content = runtime.cipher.open("mail", row["content"], owner=kept.id.bytes)
        message = message_from_bytes(content, policy=policy.default)
        parts = [each.get_content() for each in message.walk() if not each.is_multipart()]
        texts = [each.decode(errors="replace") if isinstance(each, bytes) else str(each) for each in parts]
        found.append((kept, "\n".join([str(message), *(unfold(each) for each in texts)])))
    return found


def unfold(text: str) -> str:
    return text.replace("\r\n ", "").replace("\n ", "")


async def read_export(runtime: Runtime, user: User) -> str:
    async with runtime.transaction(OPERATOR) as work:
        export_id = await exports.request_data_export(work, user)
    await make_export(runtime, export_id)
    work = runtime.work(OPERATOR)
    export = await exports.get_ready_export(work, user, export_id)
    file = zipfile.ZipFile(io.BytesIO(b"".join([piece async for piece in exports.read_export_file(work, export)])))
    return unfold("\n".join(file.read(name).decode() for name in file.namelist()))


async def read_pages(client: httpx2.AsyncClient, session: dict[str, str], booking_id: str) -> Seen:
    """Read what the host's pages show of bookings."""
    views = [f"/bookings?view={view}" for view in ("upcoming", "past", "cancelled")]
    paths = ["/", "/bookings", *views, f"/bookings/{booking_id}", "/bookings/export.csv", "/contacts"]
    answers = {path: await client.get(path, headers=session) for path in paths}
    assert {path: each.status_code for path, each in answers.items()} == dict.fromkeys(paths, 200)
    return {path: each.text for path, each in answers.items()}


async def test_only_the_invitee_sees_the_link_that_changes_a_booking(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    radicale: Radicale,
    work_calendar: str,
    connect: Connect,
    meeting: EventType,
    run: Run,
    logs: io.StringIO,
) -> None:
    connection = await connect(work_calendar)
    session = await open_session(runtime, user)
    async with runtime.transaction(OPERATOR) as work:
        feed = f"/feed/{(await booking_events.renew_feed(work, user)).rpartition('/')[2]}"
    booked = await client.post("/api/bookings", json=public_body(meeting, inviteeEmail=INVITEE, guests=[GUEST]))
    link, booking_id = booked.json()["manageUrl"], booked.json()["bookingId"]
    token = link.rpartition("/")[2]
    seen: Seen = {}
    steps = {
        "booked": None,
        "rescheduled": ("reschedule", {"newStartTime": ONE}),
        "cancelled": ("cancel", {"reason": "Ill"}),
    }
    for step, change in steps.items():
        if change is not None:
            answer = await client.post(f"/api/public/manage/{token}/{change[0]}", json=change[1])
            assert answer.status_code == 200, answer.text
        for page in ("", "/reschedule", "/cancel", "/calendar.ics"):
            await client.get(f"/manage/{token}{page}")
        await client.get(f"/manage/{token[:-1]}x")
        await work_off(runtime, clock)
        await sync_connection(runtime, connection.id)
        for name in await radicale.names(work_calendar):
            event = unfold((await radicale.send("GET", f"{work_calendar}{name}")).text)
            seen[f"{step}: the host's calendar"] = event
        seen[f"{step}: the feed"] = unfold((await client.get(feed)).text)
        seen |= {f"{step}: {path}": text for path, text in (await read_pages(client, session, booking_id)).items()}
        seen[f"{step}: agents"] = str([await run("list_bookings"), await run("get_booking", bookingId=booking_id)])
        seen[f"{step}: the export"] = await read_export(runtime, user)
    written = await read_mails(runtime)
    seen |= {f"mail {kept.id} to {kept.recipient}": text for kept, text in written if kept.recipient != INVITEE}
    seen["metrics"] = (await client.get("/metrics")).text
    seen["logs"] = logs.getvalue()

    to_dashboard = f"{runtime.settings.public_url}/bookings/{booking_id}"
    assert [where for where, text in seen.items() if token in text or "/manage/" in text] == ["metrics", "logs"]
    assert [where for where, text in seen.items() if token in text] == []
    assert await find_in_dump(runtime, {token}) == []
    # What is not found must have been there to be looked at, and the invitee must have got the link.
    for step in ("booked", "rescheduled"):
        for place in ("the host's calendar", "the feed"):
            (shown,) = icalendar.Calendar.from_ical(seen[f"{step}: {place}"]).walk("VEVENT")
            assert str(shown["URL"]) == to_dashboard
            assert to_dashboard in str(shown["DESCRIPTION"])
    assert "/manage/{token}" in seen["logs"]
    told = [(kept.recipient, text) for kept, text in written if kept.booking_id is not None]
    assert sorted(to for to, _ in told) == sorted(3 * [INVITEE, GUEST, user.email])
    for to, text in told:
        assert ((link in text), (to_dashboard in text)) == ((to == INVITEE), (to == user.email)), to


def test_no_other_module_can_write_the_link() -> None:
    """Whoever adds a place that writes the link has to say here who reads it."""
    found = set()
    for path in list_modules():
        module = ".".join(("openslot", *path.relative_to(PACKAGE).with_suffix("").parts))
        # Who imports it names it; the other modules need not be parsed.
        for node in ast.walk(parse(path)) if NAMES_LINKS.search(read_source(path)) else ():
            if isinstance(node, ast.ImportFrom) and node.module == "openslot.domains.bookings.links":
                assert "*" not in {each.name for each in node.names}, module
                found |= {module} if WRITERS & {each.name for each in node.names} else set()
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                named = {f"{getattr(node, 'module', '')}.{each.name}" for each in node.names}
                assert not named & {"openslot.domains.bookings.links", ".openslot.domains.bookings.links"}, module

    assert found == MAY_WRITE_LINKS


def test_the_writers_of_links_are_all_known(runtime: Runtime) -> None:
    from openslot.domains.bookings import links
    from openslot.platform.core.ids import new_id

    booking_id = new_id()
    others = {"booking_url", "read_manage_token", "request_url"}
    own = {name for name, each in vars(links).items() if getattr(each, "__module__", "") == links.__name__}
    made = own - others

    assert made == WRITERS
    assert manage_token(runtime, booking_id) not in links.booking_url(runtime, booking_id)
    assert manage_token(runtime, booking_id) not in links.request_url(runtime, booking_id)
