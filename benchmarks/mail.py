"""Mail: how many mails a second one worker hands to a mail server that keeps up, in all and in the last tenth."""

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import aiosmtplib
import asyncpg
import uvloop
from aiosmtpd.smtp import SMTP, Envelope, Session
from msgspec import Struct

from benchmarks.effects import open_runtime_at
from benchmarks.processor import used_by
from benchmarks.stage import Stage, free_port, running, stage
from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.availability.models import BySlug
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingWanted, Invitee
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.migrate import migrate
from openslot.platform.core.work import Runtime, system_clock

# Each booking is two mails: one to the invitee, one to the host.
MAILS_A_BOOKING = 2
ALONE = 1_000
CONNECTIONS = 8
TARGET = 100
LOG = "mails.log"
BACKENDS = """
select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()"""


class Backlog(Struct, frozen=True):
    """What waits when the worker starts."""

    hosts: int
    bookings: int

    @property
    def mails(self) -> int:
        """How many mails that is."""
        return self.bookings * MAILS_A_BOOKING


BACKLOGS = Backlog(hosts=1, bookings=150), Backlog(hosts=50, bookings=500)


class Sink:
    """Accepts every mail, and writes down when it came and which one it was."""

    def __init__(self, log: Path) -> None:
        self._log = log.open("a", buffering=1)

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        """Accept a mail; named by the library."""
        content = envelope.original_content or b""
        message_id = next(line for line in content.split(b"\r\n") if line.lower().startswith(b"message-id:"))
        self._log.write(f"{time.time()} {message_id.partition(b':')[2].decode().strip()}\n")
        return "250 OK"


async def serve(port: int, log: Path) -> None:
    """Be the mail server, until the process is ended."""
    sink = Sink(log)
    server = await asyncio.get_running_loop().create_server(lambda: SMTP(sink, hostname="sink"), "127.0.0.1", port)
    async with server:
        await server.serve_forever()


def main() -> None:
    """Measure the mail server alone, then each backlog; print a line for each."""
    for backlog in BACKLOGS:
        with stage() as here:
            port, log = free_port(), here.data_dir / LOG
            os.environ["OPENSLOT_SMTP_URL"] = f"smtp://127.0.0.1:{port}"
            os.environ["OPENSLOT_MAIL_FROM"] = "bookings@bench.example"
            with running(["benchmarks.mail", "sink", str(port), str(log)], port, here):
                uvloop.run(_measure(here, port, log, backlog))


async def _measure(here: Stage, port: int, log: Path, backlog: Backlog) -> None:
    await migrate(here.url)
    async with open_runtime_at(here) as runtime:
        await _book(runtime, backlog)
    alone = await _send_alone(port)
    os.truncate(log, 0)
    connection = await asyncpg.connect(here.url)
    began = time.time()
    with running(["openslot", "worker"], None, here) as pid:
        await _wait_for(log, 1)
        before = used_by(pid), await _used_by_backends(connection)
        await _wait_for(log, backlog.mails)
        after = used_by(pid), await _used_by_backends(connection)
        used = after[0] - before[0], after[1] - before[1]
    came = _read(log)
    _print(backlog, alone, [float(when) - began for when, _ in came], used)
    if len({message_id for _, message_id in came}) != len(came):
        raise SystemExit("a mail was sent twice")
    await connection.close()


def _read(log: Path) -> list[list[str]]:
    return [line.split() for line in log.read_text().splitlines()]


async def _wait_for(log: Path, mails: int) -> None:
    while len(_read(log)) < mails:  # noqa: ASYNC110 - another process writes it
        await asyncio.sleep(0.1)


async def _used_by_backends(connection: asyncpg.Connection) -> float:
    return sum(used_by(row["pid"]) for row in await connection.fetch(BACKENDS))


async def _book(runtime: Runtime, backlog: Backlog) -> None:
    hosts = [await _add_host(runtime, number) for number in range(backlog.hosts)]
    starts = [_starts() for _ in hosts]
    for number in range(backlog.bookings):
        host = number % backlog.hosts
        wanted = BookingWanted(
            which=BySlug(hosts[host].id, "30min"),
            starts_at=next(starts[host]),
            invitee=Invitee(name=f"Client {number}", email=f"c{number}@bench.example", zone="UTC"),
        )
        async with runtime.transaction(PUBLIC) as work:
            await bookings.create_booking(work, wanted)


async def _add_host(runtime: Runtime, number: int) -> User:
    async with runtime.transaction(OPERATOR) as work:
        return await people.welcome_user(work, UserWanted(email=f"h{number}@bench.example", name=f"Host {number}"))


def _starts() -> Iterator[datetime]:
    """Name starts within working hours, from the day after tomorrow on."""
    today = system_clock().replace(hour=0, minute=0, second=0, microsecond=0)
    for day in count(2):
        on = today + timedelta(days=day)
        if on.weekday() < 5:
            yield from (on.astimezone(UTC) + timedelta(hours=9, minutes=30 * n) for n in range(16))


async def _send_alone(port: int) -> float:
    """Send mails over a few connections, without Openslot; return how many a second the server takes."""
    content = b"Message-ID: <%d@bench>\r\nSubject: alone\r\n\r\n" + b"A line of a mail.\r\n" * 500
    numbers = iter(range(ALONE))

    async def send() -> None:
        async with aiosmtplib.SMTP(hostname="127.0.0.1", port=port, local_hostname="bench") as client:
            for number in numbers:
                await client.sendmail("a@bench.example", ["b@bench.example"], content % number)

    began = time.perf_counter()
    await asyncio.gather(*(send() for _ in range(CONNECTIONS)))
    return ALONE / (time.perf_counter() - began)


def _print(backlog: Backlog, alone: float, came: list[float], used: tuple[float, float]) -> None:
    came.sort()
    tail = len(came) // 10
    overall = (len(came) - 1) / (came[-1] - came[0])
    last_tenth = tail / (came[-1] - came[-1 - tail])
    worker, database = (each / len(came) / 1_000 for each in used)
    print(
        f"{len(came)} mails, hosts: {backlog.hosts}: {overall:.0f} a second, {last_tenth:.0f} in the last tenth "
        f"(target {TARGET}), {overall / alone:.2f} of the {alone:.0f} that the server takes alone; "
        f"{worker:.1f} ms of processor time a mail in the worker, {database:.1f} in PostgreSQL",
        flush=True,
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["sink"]:
        uvloop.run(serve(int(sys.argv[2]), Path(sys.argv[3])))
    else:
        main()
