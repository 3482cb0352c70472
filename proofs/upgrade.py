"""Upgrade the last release to this one while people book with both, and count what was lost, doubled or refused.

The last release is built from the commit in tests/upgrades/release.json. Everything that it keeps was made by it.
"""

import asyncio
import email
import itertools
from collections import Counter, deque
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from subprocess import Popen
from typing import Any

import asyncpg
import httpx2
from msgspec import Struct

from openslot.platform.core.embedded import start_server, stop_server
from openslot.platform.core.times import iso
from proofs.figures import Figure
from proofs.releases import CannotBuild, Machine, Release, build_release, end, get_todays, machine
from proofs.scene import DEAD, MAILS, SENDER, STUCK, count_events, name_message
from tests.support.agent import NEWEST
from tests.support.agent import PATH as TOOLS
from tests.support.live import connect
from tests.support.ports import held_port
from tests.support.races import FREE, OVERLAPS, find_disorder
from tests.support.radicale import PASSWORD, USER, Radicale, radicale_in
from tests.support.receiver import Receiver, answering, receiving
from tests.support.smtp_server import ScriptedServer, smtp_server
from tests.upgrades.statements import load_release

# Rounds of booking for each step of the upgrade; a round is up to five requests.
ROUNDS, SHORT = 40, 8
AT_ONCE = 4
PAUSE = 1.5
HOST = "ida@lindqvist.example"
DONE_WITHIN = 900.0
READY_WITHIN = 120.0
BOOKED = """
select b.id::text, b.starts_at, b.status from bookings b join users u on u.id = b.host_id where u.email = $1"""
PUBLIC = """
select v.id::text from events v join bookings b on b.id = v.subject_id join users u on u.id = b.host_id
where v.public is not null and u.email = $1"""
# Emails that demo data causes stay in the embedded mailbox.
SENT = "select id::text from mail_messages where status = 'sent' and transport = 'smtp'"
KEPT = """
select count(*) from mail_messages m join users u on u.id = m.host_id where m.transport <> 'smtp' and u.email = $1"""
CONFIRMED = """
select b.id::text, b.starts_at from bookings b join users u on u.id = b.host_id
where b.status = 'CONFIRMED' and u.email = $1"""


class Web(Struct, frozen=True, eq=False):
    """A web process of a release, and a client of it."""

    release: str
    process: Popen[bytes]
    client: httpx2.AsyncClient


class Host(Struct, frozen=True):
    """Somebody whose time is booked, and the starts that are open."""

    headers: dict[str, str]
    slug: str
    starts: deque[str]


class Told(Struct, frozen=True):
    """Those who are told about bookings."""

    smtp: ScriptedServer
    receiver: Receiver
    radicale: Radicale
    calendar: str


class Traffic:
    """People who book, reschedule and cancel at every web process in turn, and what they were told."""

    def __init__(self, host: Host, agent: dict[str, str]) -> None:
        self.webs: list[Web] = []
        self.requests: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.acknowledged: dict[str, tuple[str, str]] = {}
        self.duels = self.odd_duels = self.rounds = self.migrations = 0
        self._under_way: Counter[Web] = Counter()
        self._host = host
        self._agent = agent
        self._turns = itertools.count()

    async def send(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> httpx2.Response | None:
        """Send a request to the next web process; None: there was no answer, which is counted as status 0."""
        web = self.webs[next(self._turns) % len(self.webs)]
        self._under_way[web] += 1
        try:
            answer = await web.client.request(method, path, json=body, headers=dict(headers))
        except httpx2.TransportError:
            self.statuses[0] += 1
            return None
        finally:
            self._under_way[web] -= 1
        self.requests[web.release] += 1
        self.statuses[answer.status_code] += 1
        if answer.status_code not in {200, 409}:
            print(f"{web.release}: {method} {path}: {answer.status_code} {answer.text[:300]}", flush=True)
        return answer

    async def book(self) -> None:
        """Book a time, sometimes twice at once; reschedule; cancel every third; let an agent look at its budget."""
        number, self.rounds = self.rounds, self.rounds + 1
        host = self._host
        start, later = host.starts.popleft(), host.starts.popleft()
        wanted = {
            "eventTypeSlug": host.slug,
            "startTime": start,
            "inviteeName": f"Guest {number}",
            "inviteeEmail": f"guest{number}@okafor.example",
            "inviteeTimezone": "Europe/Berlin",
        }
        asked = 2 if number % 4 == 0 else 1
        answers = await asyncio.gather(
            *(self.send("POST", "/api/v1/bookings", wanted, host.headers) for _ in range(asked))
        )
        ids = [answer.json()["bookingId"] for answer in answers if answer is not None and answer.status_code == 200]
        self.duels += asked == 2
        self.odd_duels += asked == 2 and len(ids) != 1
        for id_ in ids:
            self.acknowledged[id_] = (start, "CONFIRMED")
            await self._change(id_, "PATCH", "reschedule", {"newStartTime": later})
            if number % 3 == 0:
                await self._change(id_, "POST", "cancel", {})
        call = {"name": "check_budget", "arguments": {}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        await self.send("POST", TOOLS, message, self._agent)

    async def _change(self, id_: str, method: str, verb: str, body: dict[str, str]) -> None:
        """Reschedule or cancel a booking; once that was acknowledged, the time that it had is open to others."""
        answer = await self.send(method, f"/api/v1/bookings/{id_}/{verb}", body, self._host.headers)
        if answer is not None and answer.status_code == 200:
            before, _ = self.acknowledged[id_]
            self.acknowledged[id_] = (
                body.get("newStartTime", before),
                "CANCELLED" if verb == "cancel" else "CONFIRMED",
            )
            self._host.starts.append(before)

    async def more(self, rounds: int) -> None:
        """Wait until so many more have booked."""
        wanted = self.rounds + rounds
        async with asyncio.timeout(60 + 5 * rounds):
            while self.rounds < wanted:
                await asyncio.sleep(0.05)

    async def stop(self, web: Web) -> None:
        """Send nobody to it any more, wait for what it was asked, as every proxy does, and end it."""
        self.webs.remove(web)
        while self._under_way[web]:
            await asyncio.sleep(0.01)
        await asyncio.to_thread(end, web.process)
        await web.client.aclose()


def prove(place: Path, *, short: bool) -> list[Figure]:
    """Build the last release, make data with it, and upgrade it under load."""
    release = load_release()
    try:
        old = build_release(release.commit, place / "release")
    except CannotBuild as fault:
        print(fault, flush=True)
        return [Figure("releases built", 0, at_least=1)]
    print(f"{f'{release.version}, commit {release.commit[:12]}':>44}  is built", flush=True)
    return asyncio.run(_prove(place, old, SHORT if short else ROUNDS))


async def _prove(place: Path, old: Release, rounds: int) -> list[Figure]:
    async with AsyncExitStack() as stack:
        port = stack.enter_context(held_port())
        start_server(place / "data", options={"listen_addresses": "127.0.0.1", "port": str(port)})
        stack.callback(stop_server, place / "data")
        smtp = await stack.enter_async_context(smtp_server())
        receiver = await stack.enter_async_context(receiving(answering(204)))
        (place / "radicale").mkdir()
        radicale = stack.enter_context(radicale_in(place / "radicale"))
        told = Told(smtp, receiver, radicale, await radicale.add_calendar())
        url = f"postgresql://postgres@127.0.0.1:{port}/openslot"
        environment = {
            "DATABASE_URL": url,
            "OPENSLOT_DATA_DIR": str(place / "data"),
            "OPENSLOT_OUTBOUND_ALLOW": "127.0.0.0/8",
            "OPENSLOT_LIMIT_KEY": str(FREE),
            "OPENSLOT_LIMIT_AGENT": str(FREE),
            "OPENSLOT_LOG_LEVEL": "warning",
            "OPENSLOT_SMTP_URL": f"smtp://127.0.0.1:{smtp.port}",
            "OPENSLOT_MAIL_FROM": f"Openslot <{SENDER}>",
        }
        lent = stack.enter_context(machine(place / "machine", environment))
        await asyncio.to_thread(lent.run, old, "migrate")
        pool = await stack.enter_async_context(asyncpg.create_pool(url, min_size=1, max_size=2))
        traffic = await _upgrade(lent, old, pool, told, rounds)
        return [
            *_count_answers(traffic),
            *await _count_bookings(pool, traffic),
            *await _count_told(pool, told),
            *await _verify(lent),
        ]


async def _upgrade(lent: Machine, old: Release, pool: asyncpg.Pool, told: Told, rounds: int) -> Traffic:
    """Do what docs/backups-and-upgrades.md says, with a storm of bookings from the first step to the last."""
    new = get_todays()
    old_worker = lent.start_worker(old)
    old_web = await _start_web(lent, old)
    agent = (await asyncio.to_thread(lent.run, old, "seed"))["agentKeys"]["support"]
    host = await _welcome(lent, old, old_web, told)
    traffic = Traffic(host, {"Authorization": f"Bearer {agent}", "MCP-Protocol-Version": NEWEST})
    traffic.webs.append(old_web)
    async with booking(traffic):
        await traffic.more(2 * rounds)
        traffic.migrations = len((await asyncio.to_thread(lent.run, new, "migrate"))["applied"])
        await traffic.more(rounds)
        new_worker = lent.start_worker(new)
        traffic.webs.append(await _start_web(lent, new))
        await traffic.more(2 * rounds)
        await asyncio.to_thread(end, old_worker)
        await traffic.more(rounds)
        await traffic.stop(old_web)
        await traffic.more(rounds)
    with suppress(TimeoutError):
        async with asyncio.timeout(DONE_WITHIN):
            while await pool.fetchval(STUCK):
                await asyncio.sleep(0.2)
    await asyncio.to_thread(end, new_worker)
    await traffic.stop(traffic.webs[0])
    return traffic


@asynccontextmanager
async def booking(traffic: Traffic) -> AsyncIterator[None]:
    """Let people book meanwhile, some at once."""
    is_over = asyncio.Event()

    async def go_on() -> None:
        while not is_over.is_set():
            await traffic.book()
            await asyncio.sleep(PAUSE)

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(go_on())
        yield
        is_over.set()


async def _start_web(lent: Machine, release: Release) -> Web:
    """Start a web process and wait until it is ready."""
    process, port = lent.start_web(release)
    web = Web(release.name, process, connect(f"http://127.0.0.1:{port}"))
    async with asyncio.timeout(READY_WITHIN):
        while True:
            with suppress(httpx2.TransportError):
                if (await web.client.get("/readyz")).status_code == 200:
                    return web
            if process.poll() is not None:
                raise RuntimeError(f"the {release.name} web process has ended:\n{lent.read_logs(release.name)}")
            await asyncio.sleep(0.1)


async def _welcome(lent: Machine, old: Release, web: Web, told: Told) -> Host:
    """Add a host with a key, a webhook and a calendar, with the old release's commands, and list what is open."""

    async def run(*arguments: str, given: str = "") -> Any:
        return await asyncio.to_thread(lent.run, old, *arguments, given=given)

    await run("user", "add", HOST, "--name", "Ida Lindqvist", "--plan", "pro")
    await run("webhook", "add", "--user", HOST, "--url", told.receiver.url)
    caldav = ("--caldav", told.calendar, "--username", USER, "--password-stdin")
    await run("calendar", "connect", "--user", HOST, *caldav, given=PASSWORD)
    headers = {"Authorization": f"Bearer {(await run('key', 'create', '--user', HOST))['key']}"}
    (offered, *_) = (await web.client.get("/api/v1/event-types", headers=headers)).json()["data"]
    first = datetime.now(UTC).date() + timedelta(days=1)
    days = {"startDate": str(first), "endDate": str(first + timedelta(days=61)), "timezone": "UTC"}
    found = await web.client.get(f"/api/v1/availability/{offered['slug']}", params=days, headers=headers)
    assert found.is_success, found.text
    starts: deque[str] = deque()
    end_of_last = ""
    for slot in found.json()["data"]:
        if slot["startTime"] >= end_of_last:
            starts.append(slot["startTime"])
            end_of_last = slot["endTime"]
    return Host(headers, offered["slug"], starts)


def _count_answers(traffic: Traffic) -> list[Figure]:
    seen = traffic.statuses
    refused = seen.total() - seen[0] - seen[200] - seen[409] - sum(many for code, many in seen.items() if code >= 500)
    return [
        Figure("migrations applied under load", traffic.migrations, at_least=1),
        *(Figure(f"requests to the {name} release", traffic.requests[name], at_least=1) for name in ("old", "new")),
        Figure("answers 5xx", sum(many for code, many in seen.items() if code >= 500), at_most=0),
        Figure("requests without an answer", seen[0], at_most=0),
        Figure("other answers than 200 and 409", refused, at_most=0),
        Figure("times that two wanted at once", traffic.duels, at_least=1),
        Figure("of these, not given to exactly one", traffic.odd_duels, at_most=0),
    ]


async def _count_bookings(pool: asyncpg.Pool, traffic: Traffic) -> list[Figure]:
    found = {row["id"]: (iso(row["starts_at"]), row["status"]) for row in await pool.fetch(BOOKED, HOST)}
    known = traffic.acknowledged
    return [
        Figure("bookings acknowledged", len(known), at_least=1),
        Figure("acknowledged bookings missing", len(known.keys() - found.keys()), at_most=0),
        Figure("bookings in another state", sum(found.get(id_, at) != at for id_, at in known.items()), at_most=0),
        Figure("bookings that nobody was told of", len(found.keys() - known.keys()), at_most=0),
        Figure("overlapping claims", await pool.fetchval(OVERLAPS), at_most=0),
        Figure("bookings and claims in disorder", sum((await find_disorder(pool)).values()), at_most=0),
    ]


async def _count_told(pool: asyncpg.Pool, told: Told) -> list[Figure]:
    public = {row["id"] for row in await pool.fetch(PUBLIC, HOST)}
    hooks: dict[str, set[bytes]] = {}
    for got in told.receiver.got:
        hooks.setdefault(got.id, set()).add(got.body)
    sent = {name_message(row["id"]) for row in await pool.fetch(SENT)}
    known = {name_message(row["id"]) for row in await pool.fetch(MAILS)}
    mails = Counter(str(email.message_from_bytes(got.content)["Message-ID"]) for got in told.smtp.received)
    confirmed = await pool.fetch(CONFIRMED, HOST)
    return [
        Figure("effects not done", await pool.fetchval(STUCK), at_most=0),
        Figure("effects given up", await pool.fetchval(DEAD), at_most=0),
        Figure("webhooks: events missing", len(public - hooks.keys()), at_most=0),
        Figure("webhooks: ids with two bodies", sum(len(bodies) > 1 for bodies in hooks.values()), at_most=0),
        Figure("mails sent", len(sent), at_least=1),
        Figure("mails: kept in the mailbox", await pool.fetchval(KEPT, HOST), at_most=0),
        Figure("mails: sent but not received", len(sent - mails.keys()), at_most=0),
        Figure("mails: received twice", sum(mails.values()) - len(mails), at_most=0),
        Figure("mails: received under another Message-ID", len(mails.keys() - known), at_most=0),
        *await count_events(told.radicale, told.calendar, {row["id"]: row["starts_at"] for row in confirmed}),
    ]


async def _verify(lent: Machine) -> list[Figure]:
    """Verify the agents' audit trail with this release, and look for errors in its logs."""
    found = await asyncio.to_thread(lent.run, get_todays(), "audit", "verify")
    faults = [line for line in lent.read_logs("new").splitlines() if '"level": "error"' in line]
    for line in faults[:5]:
        print(line)
    return [
        Figure("records of the audit trail", found["records"], at_least=1),
        Figure("faults in the audit trail", len(found["faults"]), at_most=0),
        Figure("errors in the new release's logs", len(faults), at_most=0),
    ]
