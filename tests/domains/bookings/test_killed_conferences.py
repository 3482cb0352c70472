"""A worker is killed after a link was made and before it is kept: nobody ever sees a second link."""

import asyncio
import signal
from collections.abc import AsyncIterator
from datetime import timedelta
from email.message import EmailMessage
from pathlib import Path

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.event_types.ports import LinkWanted
from openslot.platform.core.config import Settings
from openslot.platform.core.environment import load_settings
from openslot.platform.core.log import set_up_logging
from openslot.platform.core.work import Clock, Runtime, Work, system_clock
from openslot.platform.jobs.worker import run_worker
from openslot.runtime import open_runtime
from openslot.wiring import WIRING
from tests.domains.bookings.conftest import offer
from tests.domains.bookings.support import book
from tests.domains.mail.conftest import messages
from tests.support.fake_conferences import BY_SLOW, SlowConference, install, read_links
from tests.support.forked import Forked
from tests.support.races import find_disorder

pytestmark = [pytest.mark.own_database, pytest.mark.rest("kills a worker: one test in make test does")]

LINKS = "links"


class LastingConference(SlowConference):
    """Makes a new link each time it is asked, writes it down, and keeps the first one who asks waiting for good."""

    def __init__(self, made: Path) -> None:
        super().__init__()
        self.made = made

    async def request(self, work: Work, wanted: LinkWanted) -> str:
        number = len(self.made.read_text().splitlines())
        link = f"https://slow.example/{number}"
        with self.made.open("a") as file:
            file.write(f"{link}\n")
        if number == 0:
            await asyncio.Event().wait()
        return link


def run(url: str, data_dir: str, made: str) -> None:
    """Work until a signal comes."""
    asyncio.run(_work(url, data_dir, Path(made)))


async def _work(url: str, data_dir: str, made: Path) -> None:
    settings = load_settings({"database_url": url, "data_dir": Path(data_dir), "log_level": "error"}, environ={})
    set_up_logging(settings)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    wiring, fakes = replace(WIRING, periodic=()), install(LastingConference(made))
    async with open_runtime(settings, wiring=wiring, fakes=fakes) as runtime:
        await run_worker(runtime, stop)


@pytest.fixture
def clock() -> Clock:
    """The clock of the workers."""
    return system_clock


@pytest.fixture
async def runtime(settings: Settings, tmp_path: Path) -> AsyncIterator[Runtime]:
    async with open_runtime(settings, fakes=install(LastingConference(tmp_path / LINKS))) as opened:
        yield opened


async def test_a_link_that_was_made_and_not_kept_is_seen_by_nobody(
    settings: Settings, runtime: Runtime, user: User, tmp_path: Path
) -> None:
    made = tmp_path / LINKS
    made.touch()
    event_type = await offer(runtime, user, "slow", location=BY_SLOW, seats=3)
    day = runtime.clock().replace(hour=10, minute=0, second=0, microsecond=0) + timedelta(days=7)
    start = day + timedelta(days=(7 - day.weekday()) % 7)
    emails = [(await book(runtime, event_type, start)).invitee_email for _ in range(2)]

    worker = Forked(run, settings.database_url or "", str(settings.data_dir), str(made))
    async with asyncio.timeout(60):
        while not made.read_text():
            await asyncio.sleep(0.02)
    worker.kill()
    worker.wait()
    lost = made.read_text().split()[0]
    (before,) = (await read_links(runtime)).confirmed.values()

    worker = Forked(run, settings.database_url or "", str(settings.data_dir), str(made))
    try:
        async with asyncio.timeout(90):
            while await runtime.pool.fetchval(
                "select count(*) from effects where state in ('queued', 'running', 'waiting') and key is null"
            ):
                await asyncio.sleep(0.1)
    finally:
        worker.terminate()
        worker.wait(60)

    (links,) = (await read_links(runtime)).confirmed.values()
    assert lost not in before
    assert len(set(links)) == 1
    letters = [read_text(each) for to in (user.email, *emails) for each in await messages(runtime, to)]
    assert {link for link in made.read_text().split() if any(link in each for each in letters)} == {links[0]}
    assert await runtime.pool.fetchval("select count(*) from events where type = 'booking.link_added'") == 2
    assert await find_disorder(runtime.pool) == {}


def read_text(message: EmailMessage) -> str:
    body = message.get_body(("plain",))
    assert body is not None
    return str(body.get_content())
