"""The one statement behind the SCIM door: token, organization, address gate and limit."""

from datetime import datetime

from openslot.access.keys import CredentialKind
from openslot.access.limits import NOW, WINDOW, decide, live, verdict_columns
from openslot.access.store import BUCKETS
from openslot.core.db import Db, Row

ENTER_WITH_TOKEN = f"""
with token as materialized (
    select t.id as token_id, t.organization_id, o.plan, o.plan_until
    from scim_tokens t join organizations o on o.id = t.organization_id
    where t.hash = $1 and t.revoked_at is null and (t.expires_at is null or t.expires_at > $5)
), gate as materialized (
    select {live("r.stamps", NOW)} as live from rate_log r where r.bucket = $2
), logged as (
    insert into rate_log as x (bucket, stamps, taken)
    select '{BUCKETS[CredentialKind.SCIM_TOKEN]}' || token_id, array[{NOW}], 1 from token
    where coalesce((select cardinality(live) from gate), 0) < $3
    on conflict (bucket) do update set {decide("$4")}
    returning {verdict_columns("$4")}
)
select token.*, logged.taken, logged.free_at, logged.used, {NOW} as now,
       coalesce((select cardinality(live) from gate), 0) as failed,
       (select live[1] from gate) + {WINDOW} as gate_free_at
from (select) one left join token on true left join logged on true"""


async def enter_with_token(
    db: Db, token_hash: bytes, gate: str, *, failed_limit: int, token_limit: int, now: datetime
) -> Row:
    """Look at a token, its organization, the gate and the limit; a token is charged where the gate is open."""
    row = await db.fetchrow(ENTER_WITH_TOKEN, token_hash, gate, failed_limit, token_limit, now)
    assert row is not None  # noqa: S101 - a left join of one row
    return row
