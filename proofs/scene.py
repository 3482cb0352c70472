"""A host whose bookings set mails, webhooks, calendar events and a CRM in motion, and a count of what has arrived."""

import asyncio
import email
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import psutil
from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.access import operations as access
from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.accounts.plans import Plan
from openslot.domains.calendars import operations as calendars
from openslot.domains.calendars.models import CalDavWanted
from openslot.domains.crm import operations as crm
from openslot.domains.crm.models import CrmWanted
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import RollingWindow
from openslot.domains.people import operations as people
from openslot.domains.schedules import operations as schedules
from openslot.domains.webhooks import operations as webhooks
from openslot.domains.webhooks.models import EndpointWanted
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.embedded import start_server, stop_server
from openslot.platform.core.environment import load_settings
from openslot.platform.core.migrate import migrate
from openslot.platform.core.times import iso
from openslot.platform.core.work import Runtime, system_clock
from openslot.runtime import open_runtime
from proofs.figures import Figure
from proofs.proxy import FaultProxy
from tests.support.fake_hubspot import TOKEN, FakeHubSpot
from tests.support.fake_hubspot import serving as serving_hubspot
from tests.support.killable import read_events
from tests.support.ports import held_port
from tests.support.radicale import PASSWORD, USER, Radicale, radicale_in
from tests.support.receiver import Receiver, answering, receiving
from tests.support.smtp_server import ScriptedServer, smtp_server

PEERS = ("database", "smtp", "caldav", "webhook", "crm")
SENDER = "bookings@openslot.example"
TOLD = "select id::text from events where type like 'booking.%'"
# Each booking is made once, moved at most once and cancelled at most once.
TWICE = """
select type, subject_id::text as booking, count(*) as times, array_agg(at order by at) as at,
       array_agg(fact::text order by at) as facts
from events where type like 'booking.%' group by type, subject_id having count(*) > 1"""
PUBLIC = "select id::text from events where public is not null"
# What each event is told by mail, and to whom.
MAILED = """
select m.id::text as mail, v.id::text as event, m.recipient
from mail_messages m join effects e on e.id = m.id join events v on v.id = e.event_id
where m.status = 'sent' and v.type like 'booking.%'"""
MAILS = "select id::text from mail_messages"
CONFIRMED = "select id::text, starts_at from bookings where status = 'CONFIRMED'"
BOOKED = "select id::text, starts_at, status from bookings"
STUCK = "select count(*) from effects where state in ('waiting', 'queued', 'running') and event_id is not null"
DEAD = "select count(*) from effects where state = 'dead'"


class Scene(Struct, kw_only=True):
    """The host, the database as it is reached without a fault, and everybody who is told about bookings."""

    settings: Settings
    """As the processes have them: the way to each peer may lead through a proxy."""
    environment: dict[str, str]
    runtime: Runtime
    user: User
    key: str
    data_dir: Path
    database_options: dict[str, str]
    smtp: ScriptedServer
    receiver: Receiver
    radicale: Radicale
    calendar: str
    hubspot: FakeHubSpot
    proxies: dict[str, FaultProxy]

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    async def kill_database(self) -> None:
        """Kill PostgreSQL without warning, and start it again."""
        lines = (self.data_dir / "postgres" / "postmaster.pid").read_text().splitlines()
        process = psutil.Process(int(lines[0]))
        process.kill()
        # Else it may be found alive, and is not started again.
        await asyncio.to_thread(process.wait)
        await asyncio.to_thread(start_server, self.data_dir, options=self.database_options)


@asynccontextmanager
async def scene(place: Path, *, through: Sequence[str] = (), data_dir: Path | None = None) -> AsyncIterator[Scene]:
    """Set everything up; those of `PEERS` who are named are reached through a proxy."""
    async with AsyncExitStack() as stack:
        data_dir, port = data_dir or place / "data", stack.enter_context(held_port())
        is_remote = "database" in through
        options = {"listen_addresses": "127.0.0.1", "port": str(port)} if is_remote else {}
        server = start_server(data_dir, options=options)
        stack.callback(stop_server, data_dir)
        proxies: dict[str, FaultProxy] = {}

        async def lead(name: str, port: int) -> int:
            if name not in through:
                return port
            proxies[name] = await stack.enter_async_context(FaultProxy("127.0.0.1", port).running())
            return proxies[name].port

        smtp, receiver, radicale, hubspot = await _serve_peers(place, stack)
        vendor_port = await lead("crm", urlsplit(hubspot.url).port or 0)
        direct = replace(
            load_settings({"database_url": server.url, "data_dir": data_dir, "log_level": "error"}, environ={}),
            outbound_allow=Networks((ip_network("127.0.0.0/8"),)),
            hubspot_url=f"http://127.0.0.1:{vendor_port}",
        )
        await migrate(server.url)
        runtime = await stack.enter_async_context(open_runtime(direct))
        user, key = await welcome(runtime)
        calendar = await radicale.add_calendar()
        shown = calendar.replace(f":{radicale.port}/", f":{await lead('caldav', radicale.port)}/")
        await _connect(runtime, user, calendar=shown, hook_port=await lead("webhook", receiver.port))
        environment = {
            "OPENSLOT_SMTP_URL": f"smtp://127.0.0.1:{await lead('smtp', smtp.port)}",
            "OPENSLOT_MAIL_FROM": f"Openslot <{SENDER}>",
            "OPENSLOT_HUBSPOT_URL": direct.hubspot_url,
        }
        way = f"postgresql://postgres@127.0.0.1:{await lead('database', port)}/openslot"
        yield Scene(
            settings=replace(direct, database_url=way) if is_remote else direct,
            environment=environment,
            runtime=runtime,
            user=user,
            key=key,
            data_dir=data_dir,
            database_options=options,
            smtp=smtp,
            receiver=receiver,
            radicale=radicale,
            calendar=calendar,
            hubspot=hubspot,
            proxies=proxies,
        )


async def _serve_peers(place: Path, stack: AsyncExitStack) -> tuple[ScriptedServer, Receiver, Radicale, FakeHubSpot]:
    """Start everybody who is told about bookings, until the end of the stack."""
    smtp = await stack.enter_async_context(smtp_server())
    receiver = await stack.enter_async_context(receiving(answering(204)))
    (place / "radicale").mkdir()
    radicale = stack.enter_context(radicale_in(place / "radicale"))
    hubspot = await stack.enter_async_context(serving_hubspot(system_clock))
    # Its limits would spread a storm of bookings over an hour.
    hubspot.most_in_ten_seconds = hubspot.most_searches_a_second = 1_000_000
    return smtp, receiver, radicale, hubspot


async def _connect(runtime: Runtime, user: User, *, calendar: str, hook_port: int) -> None:
    """Connect the host with a calendar, a CRM and a webhook."""
    found = CalDavWanted(address=calendar, username=USER, password=PASSWORD)
    await calendars.connect_calendar(runtime.work(OPERATOR), user, found)
    await crm.connect(runtime.work(OPERATOR), user, CrmWanted(vendor="hubspot", secret=TOKEN))
    async with runtime.transaction(OPERATOR) as work:
        await webhooks.add_endpoint(work, user, EndpointWanted(url=f"http://127.0.0.1:{hook_port}/hook"))


async def welcome(runtime: Runtime, username: str = "ida", *, days: int = 60) -> tuple[User, str]:
    """Add a host with an API key who offers ten minutes at a time, so many days ahead."""
    email = f"{username}@lindqvist.example"
    wanted = UserWanted(email=email, name=f"{username.title()} Lindqvist", username=username, plan=Plan.PRO)
    async with runtime.transaction(OPERATOR) as work:
        user = await people.welcome_user(work, wanted)
        key, _ = await access.create_api_key(work, user, name="proof")
        schedule, *_ = await schedules.list_schedules(work, user)
        draft = event_types.draft_event_type(work, schedule, name="Short", slug="short", duration_minutes=10)
        await event_types.add_event_type(work, schedule, replace(draft, booking_window=RollingWindow(days)))
    return user, key


async def count_arrived(scene: Scene, bookings: int, events: int) -> list[Figure]:
    """Count what is missing and what is doubled at each of those who are told about bookings."""
    pool = scene.runtime.pool
    told = {row["id"] for row in await pool.fetch(TOLD)}
    public = {row["id"] for row in await pool.fetch(PUBLIC)}
    twice = await pool.fetch(TWICE)
    for row in twice:
        print(f"{row['booking']} has {row['type']} {row['times']} times: {row['at']} {row['facts']}", flush=True)
    hooks: dict[str, set[bytes]] = {}
    for got in scene.receiver.got:
        hooks.setdefault(got.id, set()).add(got.body)
    by_event = Counter(msgspec.json.decode(next(iter(bodies)))["id"] for bodies in hooks.values())
    return [
        Figure("bookings found", len(await pool.fetch(BOOKED)), at_least=bookings, at_most=bookings),
        Figure("events of bookings", len(told), at_least=events, at_most=events),
        Figure("bookings to which the same happened twice", len(twice), at_most=0),
        Figure("webhooks: events missing", len(public - hooks.keys()), at_most=0),
        Figure("webhooks: events under two ids", sum(count > 1 for count in by_event.values()), at_most=0),
        Figure("webhooks: ids with two bodies", sum(len(bodies) > 1 for bodies in hooks.values()), at_most=0),
        Figure("webhooks: received again, same id", len(scene.receiver.got) - len(hooks)),
        *await _count_mails(scene, told),
        *await count_events(
            scene.radicale, scene.calendar, {row["id"]: row["starts_at"] for row in await pool.fetch(CONFIRMED)}
        ),
        *await _count_meetings(scene),
        Figure("effects that are not finished", await pool.fetchval(STUCK), at_most=0),
        Figure("effects given up", await pool.fetchval(DEAD), at_most=0),
    ]


async def _count_mails(scene: Scene, told: set[str]) -> list[Figure]:
    wanted = {(event, is_host) for event in told for is_host in (True, False)}
    rows = await scene.runtime.pool.fetch(MAILED)
    sent = Counter((row["event"], row["recipient"] == scene.user.email) for row in rows)
    ids = Counter(str(email.message_from_bytes(got.content)["Message-ID"]) for got in scene.smtp.received)
    expected = {name_message(row["mail"]) for row in rows}
    known = {name_message(row["id"]) for row in await scene.runtime.pool.fetch(MAILS)}
    return [
        Figure("mails: not sent", len(wanted - sent.keys()), at_most=0),
        Figure("mails: sent as two messages", sum(count > 1 for count in sent.values()), at_most=0),
        Figure("mails: sent but not received", len(expected - ids.keys()), at_most=0),
        Figure("mails: received under another Message-ID", len(ids.keys() - known), at_most=0),
        Figure("mails: received again, same Message-ID", sum(ids.values()) - len(ids)),
    ]


def name_message(mail_id: str) -> str:
    """Write the Message-ID of a mail."""
    return f"<{mail_id}@{SENDER.rpartition('@')[2]}>"


async def count_events(radicale: Radicale, calendar: str, confirmed: Mapping[str, datetime]) -> list[Figure]:
    """Count the events that a calendar lacks or has too many, given the bookings that it must show by their ids."""
    found = await read_events(radicale, calendar)
    shown = Counter(str(each["UID"]) for each in found.values())
    starts = {str(each["UID"]): each["DTSTART"].dt for each in found.values()}
    wanted = {f"{id_}@openslot": starts_at for id_, starts_at in confirmed.items()}
    return [
        Figure("calendar: events missing", len(wanted.keys() - shown.keys()), at_most=0),
        Figure("calendar: events doubled", sum(shown.values()) - len(shown), at_most=0),
        Figure("calendar: events of nothing", len(shown.keys() - wanted.keys()), at_most=0),
        Figure("calendar: at another time", sum(starts.get(uid, at) != at for uid, at in wanted.items()), at_most=0),
    ]


async def _count_meetings(scene: Scene) -> list[Figure]:
    def name(meeting: Mapping[str, Any]) -> str:
        return str(meeting["hs_meeting_external_url"]).rpartition("/")[2]

    outcomes = {"CANCELLED": "CANCELED"}
    wanted = {
        row["id"]: (iso(row["starts_at"]), outcomes.get(row["status"], "SCHEDULED"))
        for row in await scene.runtime.pool.fetch(BOOKED)
    }
    meetings = scene.hubspot.portal.meetings
    seen = {name(each): (each["hs_meeting_start_time"], each["hs_meeting_outcome"]) for each in meetings}
    return [
        Figure("CRM: meetings missing", len(wanted.keys() - seen.keys()), at_most=0),
        Figure("CRM: meetings doubled", len(meetings) - len(seen), at_most=0),
        Figure("CRM: in an older state", sum(seen.get(id_, at) != at for id_, at in wanted.items()), at_most=0),
    ]
