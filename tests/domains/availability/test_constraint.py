"""The last guard: the database itself refuses two claims on one host's time."""

from datetime import timedelta

import asyncpg
import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime

INSERT = """
insert into claims (id, host_no, kind, starts_at, ends_at, during, active, created_at)
values ($1, $2, 'booking', $3, $4, tstzrange($3, $4), $5, $3)"""


async def test_two_active_claims_of_a_host_never_share_time(runtime: Runtime, user: User, admin: User) -> None:
    start, half, hour = runtime.clock(), timedelta(minutes=30), timedelta(hours=1)
    await runtime.pool.execute(INSERT, new_id(), user.no, start, start + hour, True)

    with pytest.raises(asyncpg.ExclusionViolationError, match="claims_never_overlap"):
        await runtime.pool.execute(INSERT, new_id(), user.no, start + half, start + half + hour, True)
    await runtime.pool.execute(INSERT, new_id(), user.no, start + hour, start + 2 * hour, True)
    await runtime.pool.execute(INSERT, new_id(), user.no, start, start + hour, False)
    await runtime.pool.execute(INSERT, new_id(), admin.no, start, start + hour, True)
    assert await runtime.pool.fetchval("select count(*) from claims where active") == 3
