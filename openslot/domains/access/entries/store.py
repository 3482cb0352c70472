"""The one statement behind every door with credentials: owners, failures and limits of all concurrent requests."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from openslot.domains.access.limits.store import NOW, WINDOW, decide, live, verdict_columns
from openslot.domains.access.models import CredentialKind
from openslot.domains.access.store import BUCKETS, TABLES
from openslot.domains.accounts.organizations.store import ASSISTANT_POLICIES
from openslot.domains.accounts.store import USER_COLUMNS
from openslot.platform.core.db import Db, Row

# What the door needs to know of a credential's owner, and where that comes from.
OWNERS = {
    CredentialKind.API_KEY: (USER_COLUMNS, "join users u on u.id = k.user_id and u.disabled_at is null"),
    CredentialKind.SCIM_TOKEN: (
        "k.organization_id, o.plan, o.plan_until",
        "join organizations o on o.id = k.organization_id",
    ),
    CredentialKind.AGENT_KEY: (
        "g.slug, g.autonomy_level, g.email_level, k.scopes",
        "join agents g on g.slug = k.agent",
    ),
    CredentialKind.ASSISTANT_TOKEN: (
        f"{USER_COLUMNS}, k.scopes, k.resource, k.client_name, k.asks_first, {ASSISTANT_POLICIES} as policies",
        "join users u on u.id = k.user_id and u.disabled_at is null",
    ),
}


def _write_statement(kind: CredentialKind) -> str:
    """Write the statement: failures are only read, and a credential is charged only if its address has not too many.

    `offset 0` makes the planner look up each one by its index, whatever its estimates; logs are locked in one order.
    """
    columns, owner = OWNERS[kind]
    return f"""
with matches as materialized (
    select a.ordinal, a.wanted, found.*,
           coalesce(cardinality(f.live), 0) as failed, f.live[1] + {WINDOW} as open_at
    from unnest($1::bytea[], $2::text[], $3::int[]) with ordinality as a (hash, failures, wanted, ordinal)
    left join lateral (
        select {live("r.stamps", NOW)} as live from rate_log r where r.bucket = a.failures offset 0
    ) f on true
    left join lateral (
        select '{BUCKETS[kind]}' || k.id as bucket, k.id as credential_id, {columns}
        from {TABLES[kind][0]} k {owner}
        where k.hash = a.hash and k.revoked_at is null and (k.expires_at is null or k.expires_at > $6) offset 0
    ) found on true
), logged as (
    insert into rate_log as x (bucket, stamps, taken)
    select bucket, array_fill({NOW}, array[p.granted]), p.granted
    from (select bucket, least(sum(wanted), $5::int)::int as granted from matches
          where bucket is not null and failed < $4 group by bucket order by bucket) p
    on conflict (bucket) do update set {decide("$5")}
    returning bucket, {verdict_columns("$5")}
)
select matches.*, logged.taken, logged.free_at, logged.used, {NOW} as now
from matches left join logged using (bucket)"""


STATEMENTS = {kind: _write_statement(kind) for kind in OWNERS}


class CredentialLookup(NamedTuple):
    """A credential to check: its hash, and the log of failed authentications of the client's address."""

    hash: bytes
    failures: str


async def look_up(
    db: Db, kind: CredentialKind, lookups: Sequence[CredentialLookup], *, failed_limit: int, limit: int, now: datetime
) -> dict[CredentialLookup, Row]:
    """Check credentials, failures and limits at once; a lookup is charged unless its address has failed too often."""
    wanted = Counter(lookups)
    hashes, failures = zip(*wanted, strict=True)
    rows = await db.fetch(STATEMENTS[kind], hashes, failures, list(wanted.values()), failed_limit, limit, now)
    by_ordinal = {row["ordinal"]: row for row in rows}
    return {lookup: by_ordinal[ordinal] for ordinal, lookup in enumerate(wanted, 1)}
