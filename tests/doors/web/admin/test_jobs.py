"""Deferred work: workers, effects that have failed for good, and jobs by the clock."""

import re
from datetime import timedelta

import httpx2

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from tests.support.clocks import MovingClock
from tests.support.host import Book, fail, listen
from tests.support.page import read_page


async def test_a_dead_effect_is_listed_and_tried_again(
    admin: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    await listen(runtime, user)
    await book()
    await fail(runtime, clock)
    await runtime.pool.execute("update effects set last_error = '<xss-probe>' where state = 'dead'")
    page = (await admin.get("/admin/jobs")).text
    link = re.search(r'action="(/admin/jobs/effects/[^"]+/retry)"', page)
    assert link is not None
    dead = await runtime.pool.fetchval("select count(*) from effects where state = 'dead'")

    answer = await admin.post(link[1])

    assert "&lt;xss-probe&gt;" in page
    assert answer.headers["location"] == "/admin/jobs?done=queued"
    assert await runtime.pool.fetchval("select count(*) from effects where state = 'dead'") == dead - 1
    assert "will be retried" in read_page(await admin.get(answer.headers["location"])).notices[0]


async def test_all_dead_effects_are_tried_again(
    admin: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    await listen(runtime, user)
    await book()
    await fail(runtime, clock)
    answer = await admin.post("/admin/jobs/effects/retry")

    assert await runtime.pool.fetchval("select count(*) from effects where state = 'dead'") == 0
    assert read_page(await admin.get(answer.headers["location"])).notices == ["1 step will be retried."]
    assert (await admin.get("/admin/jobs?done=all&tried=x&left=%00")).status_code == 200


async def test_an_unknown_effect_changes_nothing(admin: httpx2.AsyncClient) -> None:
    answer = await admin.post("/admin/jobs/effects/01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e8f/retry")

    assert answer.headers["location"] == "/admin/jobs"


async def test_jobs_tell_their_last_run_and_how_late_it_was(
    admin: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock
) -> None:
    now = clock()
    for name, started, late, status in (
        ("claims.expire", now, 0, "ok"),
        ("effects.sweep", now, 42_000, "failed"),
        ("queue.tidy", now - timedelta(hours=1), 0, "ok"),
    ):
        await runtime.pool.execute(
            """insert into periodic_runs (name, expression, due_at, started_at, lateness_ms, status, result)
            values ($1, '* * * * *', $2, $2, $3, $4, 'OSError: full')""",
            name,
            started,
            late,
            status,
        )
    page = (await admin.get("/admin/jobs")).text
    shown = {name: page[page.index(f">{name}<") :][:900] for name in ("claims.expire", "effects.sweep", "queue.tidy")}

    assert "Done" in shown["claims.expire"]
    assert "42 s late" in shown["effects.sweep"]
    assert "Failed" in shown["effects.sweep"]
    assert "OSError: full" in shown["effects.sweep"]
    assert ">Late<" in shown["queue.tidy"]
    assert "None is running" in page
