"""What a page costs: no more than five statements, however much there is."""

from contextlib import nullcontext
from datetime import timedelta

import pytest

from openslot.app import create_app
from openslot.domains.accounts.models import User
from openslot.domains.contacts.imports import operations as imports
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.doors.web.contacts.conftest import PHONE, Add, Ring, Say
from tests.support.bookings import copy_booking
from tests.support.clocks import MONDAY
from tests.support.contact_imports import bring_in, start, upload
from tests.support.host import Book, open_session
from tests.support.live import connect, serving
from tests.support.statements import MAX_STATEMENTS, CountingPool, count_statements

FILE = "Name,Email\n" + "".join(f"P{n},p{n}@x.example\nBad,bad{n}\n" for n in range(100))
# The session is one of them.
COSTS = {
    "/contacts": 2,
    "/contacts?q=x.example&sort=name&page=2": 2,
    "/contacts/export.csv": 2,
    "/contacts/new": 1,
    "/contacts/{contact}": 4,
    "/contacts/{contact}/edit": 2,
    "/contacts/{contact}/delete": 2,
    "/contacts/import": 2,
    "/contacts/imports/{draft}": 3,
    "/contacts/imports/{running}": 2,
    "/contacts/imports/{done}": 3,
    "/contacts/imports/{done}/bad-lines.csv": 3,
    "/contacts/imports/{done}/delete": 2,
    "/conversations": 2,
    "/conversations?q=noor": 2,
    "/conversations/{thread}": 3,
    "/calls": 2,
    "/calls?q=noor": 2,
    "/calls/{call}": 2,
    "/bookings/new?type=30min&contact={contact}": 4,
}


@pytest.mark.rest("fills lists, and counts the statements of every page")
async def test_no_page_needs_more_statements_where_there_is_more(
    settings: Settings, runtime: Runtime, user: User, add: Add, say: Say, ring: Ring, book: Book
) -> None:
    ids = {"contact": (await add(phone=PHONE)).id, "done": (await bring_in(runtime, user, FILE)).id}
    ids |= {"draft": (await upload(runtime, user, FILE)).id, "running": (await start(runtime, user, FILE)).id}
    await copy_booking(runtime, str((await book(email="noor@haddad.example")).id), 150)
    for n in range(60):
        at = MONDAY - timedelta(hours=n)
        ids |= {"thread": (await say(at=at)).conversation_id, "call": (await ring(at=at)).id}
        await say(phone=f"+4930123456{n:02}", at=at)
    session = await open_session(runtime, user)
    pool = CountingPool(runtime.pool)
    runtime.pool = pool
    app = create_app(settings)
    app._open_runtime = lambda: nullcontext(runtime)
    async with serving(app) as url, connect(url, headers=session) as client:
        for path, cost in COSTS.items():
            assert await count_statements(client, pool, path.format(**ids)) == (200, cost), (path, pool.asked)
    assert max(COSTS.values()) <= MAX_STATEMENTS


@pytest.mark.parametrize("batch", [1, 50])
async def test_a_batch_costs_the_same_however_many_lines_it_has(
    runtime: Runtime, user: User, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(imports, "BATCH", batch)
    started = await start(runtime, user, FILE.replace("Bad,bad", "Bo,bo@"))
    assert started.line_count == 200
    async with runtime.transaction(SYSTEM) as work:
        asked: list[str] = []
        connection = work.db

        class Counting:
            def __getattr__(self, name: str) -> object:
                asked.append(name)
                return getattr(connection, name)

        work.db = Counting()  # type: ignore[assignment]
        await imports.import_batch(work, started.id)
    assert len(asked) == 10
