"""What nobody can use any more is removed, batch after batch, and what somebody can use stays."""

from datetime import timedelta

import pytest

from openslot.domains.access import jobs, operations
from openslot.domains.accounts.models import User
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from openslot.platform.jobs.periodic import run_job

BATCH = 3
(TIDY,) = jobs.ACCESS_JOBS


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a handful be many."""
    monkeypatch.setattr(jobs, "BATCH", BATCH)
    monkeypatch.setattr("openslot.platform.jobs.batches.repeat.__kwdefaults__", {"size": BATCH, "max_": 100})


async def count(runtime: Runtime, table: str) -> int:
    found: int = await runtime.pool.fetchval(f"select count(*) from {table}")
    return found


async def test_sessions_that_are_over_go_and_others_stay(runtime: Runtime, user: User) -> None:
    await runtime.pool.execute(
        """insert into sessions (id, user_id, hash, created_at, expires_at, user_agent)
        select gen_random_uuid(), $1, decode(md5(n::text), 'hex'), now(), now() + (n - 8) * interval '1 hour', ''
        from generate_series(1, 10) n""",
        user.id,
    )

    assert await run_job(runtime, TIDY) == "0 limit logs, 0 kept answers, 8 sessions removed"
    assert await count(runtime, "sessions") == 2


async def test_answers_are_kept_for_a_day(runtime: Runtime) -> None:
    await runtime.pool.execute(
        """insert into idempotency (scope, key, request_hash, sealed, created_at)
        select '', n::text, '', '', now() - n * interval '3 hours' from generate_series(1, 20) n"""
    )

    assert await run_job(runtime, TIDY) == "0 limit logs, 13 kept answers, 0 sessions removed"
    assert await count(runtime, "idempotency") == 7


async def test_a_set_up_link_goes_when_it_has_run_out(runtime: Runtime) -> None:
    async with runtime.transaction(OPERATOR) as work:
        assert await operations.create_setup_link(work)
    await run_job(runtime, TIDY)
    assert await count(runtime, "setup_links") == 1

    await runtime.pool.execute("update setup_links set expires_at = $1", runtime.clock() - timedelta(seconds=1))
    await run_job(runtime, TIDY)
    assert await count(runtime, "setup_links") == 0


async def test_all_uses_of_keys_are_kept_before_their_logs_go(runtime: Runtime, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        made = [await operations.create_api_key(work, user, name=f"key {n}") for n in range(8)]
    used = [credential.id for _, credential in made[1:]]
    await runtime.pool.execute(
        """insert into rate_log (bucket, stamps, taken)
        select 'key:' || id, array[(date_part('epoch', now() - interval '5 minutes') * 1000000)::bigint], 1
        from unnest($1::uuid[]) id""",
        used,
    )
    await runtime.pool.execute(
        """insert into rate_log (bucket, stamps, taken)
        select kind || ':' || n, array[(date_part('epoch', now()) * 1000000)::bigint], 1
        from generate_series(1, 4) n, unnest(array['gate', 'kez', 'public']) kind"""
    )

    assert await run_job(runtime, TIDY) == "7 limit logs, 0 kept answers, 0 sessions removed"
    kept = await runtime.pool.fetch("select id from api_keys where last_used_at is not null")
    assert {row["id"] for row in kept} == set(used)
    assert await count(runtime, "rate_log") == 12
