"""What the metrics tell: of the database if it answers, of the processes and the disk always, and never late."""

import re
from datetime import timedelta
from time import monotonic

import asyncpg
import httpx2
import pytest

from openslot.platform.core.config import Settings
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime, system_clock
from openslot.platform.jobs import store

# The limit of Prometheus, if nothing else is chosen.
SCRAPED_WITHIN = 10

EFFECTS = """
insert into effects (id, event_id, reaction, state, yields, attempts, next_try_at, created_at)
select gen_random_uuid(), case when planned then null else $1::uuid end, reaction, state, yields, attempts,
    now() + interval '1 hour', now() - age
from (values
    ('mail.send', 'queued', true, 1, interval '1 hour', false),
    ('mail.send', 'queued', true, 4, interval '16 minutes', false),
    ('crm.write', 'queued', true, 2, interval '1 day', false),
    -- It may still be greylisted.
    ('mail.send', 'queued', true, 3, interval '14 minutes', false),
    -- It waits for its target, or because messages are stopped.
    ('webhooks.deliver', 'queued', true, 0, interval '1 day', false),
    ('messaging.send', 'queued', false, 1, interval '1 day', false),
    -- Nobody knows since when it was due.
    ('mail.remind', 'queued', true, 1, interval '1 day', true),
    ('mail.send', 'dead', true, 10, interval '2 days', false),
    ('mail.send', 'done', true, 2, interval '1 day', false)
) e (reaction, state, yields, attempts, age, planned)"""
RUNS = """
insert into periodic_runs (name, expression, due_at, started_at, lateness_ms, status)
select name, '* * * * *', now(), now(), 0, status from (values
    ('queue.tidy', 'failed'), ('mail.tidy', 'ok'), ('effects.sweep', 'running'), ('gone.tidy', 'failed')
) r (name, status)"""


async def add_event(db: asyncpg.Connection) -> str:
    event_id = str(new_id())
    await db.execute(
        """insert into events (id, type, at, actor, subject_kind, fact)
        values ($1, 'x', now(), '{}', 'x', '{}')""",
        event_id,
    )
    return event_id


def told(metrics: str, name: str) -> dict[str, float]:
    """Read a metric: the value of each label, or of an empty one."""
    found = re.findall(rf'^{name}(?:\{{\w+="([^"]+)"\}})? ([\d.e+]+)$', metrics, re.MULTILINE)
    return {label: float(value) for label, value in found}


async def test_what_has_failed_is_told_by_kind_if_it_is_old_enough(
    client: httpx2.AsyncClient, runtime: Runtime
) -> None:
    await runtime.pool.execute(EFFECTS, await add_event(runtime.pool))
    metrics = (await client.get("/metrics")).text

    assert told(metrics, "openslot_effects_failing") == {"mail.send": 2, "crm.write": 1}
    assert told(metrics, "openslot_effects") == {"waiting": 0, "queued": 7, "running": 0, "dead": 1}
    assert told(metrics, "openslot_effects_late_seconds") == {"": 0}
    assert told(metrics, "openslot_database_up") == {"": 1}


async def test_a_periodic_job_of_ours_that_failed_last_is_told(client: httpx2.AsyncClient, runtime: Runtime) -> None:
    await runtime.pool.execute(RUNS)

    assert told((await client.get("/metrics")).text, "openslot_periodic_failed") == {"queue.tidy": 1}


@pytest.mark.rest("waits for seconds")
async def test_a_database_that_does_not_answer_is_told_in_time(client: httpx2.AsyncClient, settings: Settings) -> None:
    other = await asyncpg.connect(settings.database_url)
    async with other.transaction():
        await other.execute("lock table effects in access exclusive mode")
        began = monotonic()
        during = await client.get("/metrics")
        took = monotonic() - began
    await other.close()
    after = (await client.get("/metrics")).text

    assert (during.status_code, took < SCRAPED_WITHIN) == (200, True)
    assert told(during.text, "openslot_database_up") == {"": 0}
    assert told(during.text, "openslot_disk_full") == {"": 0}
    assert "openslot_request_seconds_count" in during.text
    assert not {"openslot_workers", "openslot_effects"} & set(re.findall(r"^\w+", during.text, re.MULTILINE))
    assert (told(after, "openslot_database_up"), told(after, "openslot_workers")) == ({"": 1}, {"": 0})


@pytest.mark.rest("fills the database with much")
@pytest.mark.own_database
async def test_neither_metrics_nor_doctor_read_what_is_done(runtime: Runtime) -> None:
    pool = runtime.pool
    await pool.execute(
        """insert into effects (id, event_id, reaction, state, yields, attempts, next_try_at, created_at)
        select gen_random_uuid(), $1, 'mail.send', case when n % 10 = 0 then 'queued' else 'done' end, true,
            (n % 1000 = 0)::int, now(), now() - interval '1 hour' from generate_series(1, 40000) n""",
        await add_event(pool),
    )
    await pool.execute("vacuum analyze effects")
    now = system_clock()
    by_state = await pool.fetch(f"explain {store.COUNT_BY_STATE}", now)
    failing = await pool.fetch(f"explain {store.COUNT_FAILING}", now - timedelta(minutes=15))
    late = await pool.fetch(f"explain {store.COUNT_LATE}", now)
    unknown = await pool.fetch(f"explain {store.COUNT_UNKNOWN}", ["mail.send"])
    plans = ["\n".join(row["QUERY PLAN"] for row in plan) for plan in (by_state, failing, late, unknown)]

    assert [plan for plan in plans if "Seq Scan" in plan] == []
    assert "Index Only Scan using effects_failing on effects" in plans[1]
