"""The one statement behind the SCIM door: tokens, organizations, gates and limits of all concurrent requests."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from openslot.access.keys import CredentialKind
from openslot.access.limits import NOW, WINDOW, decide, live, verdict_columns
from openslot.access.store import BUCKETS
from openslot.core.db import Db, Row

# As the statement for API keys: each is looked up by its index, and logs are locked in one order.
ENTER_WITH_TOKENS = f"""
with matches as materialized (
    select a.place, a.wanted, token.*,
           coalesce(cardinality(gate.live), 0) as failed, gate.live[1] + {WINDOW} as gate_free_at
    from unnest($1::bytea[], $2::text[], $3::int[]) with ordinality as a (hash, gate, wanted, place)
    left join lateral (
        select {live("r.stamps", NOW)} as live from rate_log r where r.bucket = a.gate offset 0
    ) gate on true
    left join lateral (
        select '{BUCKETS[CredentialKind.SCIM_TOKEN]}' || t.id as bucket, t.id as token_id, t.organization_id,
               o.plan, o.plan_until
        from scim_tokens t join organizations o on o.id = t.organization_id
        where t.hash = a.hash and t.revoked_at is null and (t.expires_at is null or t.expires_at > $6) offset 0
    ) token on true
), logged as (
    insert into rate_log as x (bucket, stamps, taken)
    select bucket, array_fill({NOW}, array[p.places]), p.places
    from (select bucket, least(sum(wanted), $5::int)::int as places from matches
          where bucket is not null and failed < $4 group by bucket order by bucket) p
    on conflict (bucket) do update set {decide("$5")}
    returning bucket, {verdict_columns("$5")}
)
select matches.*, logged.taken, logged.free_at, logged.used, {NOW} as now
from matches left join logged using (bucket)"""


class TokenLookup(NamedTuple):
    """A token to check: its hash, and the log of failed authentications of the client's address."""

    token_hash: bytes
    gate: str


async def enter_with_tokens(
    db: Db, lookups: Sequence[TokenLookup], *, failed_limit: int, token_limit: int, now: datetime
) -> dict[TokenLookup, Row]:
    """Look at tokens, gates and limits at once; a token is charged for every lookup from a gate that is open."""
    wanted = Counter(lookups)
    rows = await db.fetch(
        ENTER_WITH_TOKENS,
        [lookup.token_hash for lookup in wanted],
        [lookup.gate for lookup in wanted],
        list(wanted.values()),
        failed_limit,
        token_limit,
        now,
    )
    by_place = {row["place"]: row for row in rows}
    return {lookup: by_place[place] for place, lookup in enumerate(wanted, 1)}
