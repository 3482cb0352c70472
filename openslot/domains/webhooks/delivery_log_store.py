"""The SQL of the delivery log: endpoints with their latest try, and tries by what a reader looks for."""

from uuid import UUID

from openslot.domains.webhooks.events import WebhookTested
from openslot.domains.webhooks.models import (
    Attempt,
    DeliveryFilter,
    Endpoint,
    EndpointOverview,
    EndpointRef,
    LastTest,
    LoggedDelivery,
)
from openslot.domains.webhooks.store import ENDPOINTS
from openslot.platform.core.db import Db, Row
from openslot.platform.core.events import EffectState
from openslot.platform.core.query_plans import custom_plans
from openslot.platform.core.rows import Rows

LATEST = """
left join lateral (
    select d.* from webhook_deliveries d where d.endpoint_id = e.id {0} order by d.at desc, d.id desc limit 1
) {1} on true"""
LAST = Rows(Attempt, "webhook_deliveries l", prefix="last_")
TESTED = Rows(Attempt, "webhook_deliveries t", prefix="test_try_")
DELIVERIES = Rows(
    LoggedDelivery,
    "webhook_deliveries d",
    spread={"attempt": ""},
    computed={
        "event_type": "v.type",
        "event_at": "v.at",
        # Only the latest try of an effect tells when the next one is due.
        "next_try_at": """case when f.state in ('queued', 'running') and f.attempts = d.attempt and d.error is not null
        then f.next_try_at end""",
    },
    given=("body",),
)
OVERVIEW = f"""
select {ENDPOINTS.columns}, {LAST.columns}
from webhook_endpoints e {LATEST.format("", "l")}
where e.owner_id = $1 order by e.created_at, e.id"""
ONE = f"""
select {ENDPOINTS.columns}, {LAST.columns}, {TESTED.columns},
    v.at as tested_at, f.state as test_state, f.next_try_at as test_next_try_at
from webhook_endpoints e {LATEST.format("", "l")}
left join lateral (
    select v.id, v.at from events v
    where v.subject_id = e.id and v.type = '{WebhookTested.type}' and v.tenant_id = e.owner_id
    order by v.no desc limit 1) v on true
{LATEST.format("and d.event_id = v.id", "t")}
left join lateral (
    select f.state, f.next_try_at from effects f
    where f.event_id = v.id and f.target = e.id::text order by f.no desc limit 1) f on true
where e.id = $1 and e.owner_id = $2"""
DELIVERY = f"""
select {DELIVERIES.columns}
from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id
join events v on v.id = d.event_id left join effects f on f.id = d.effect_id
where d.endpoint_id = $1 and e.owner_id = $2"""
FOUND = f"""
{DELIVERY} and ($3::text is null or v.type = $3) and ($4::boolean is null or (d.error is null) = $4)
  and ($5::timestamptz is null or d.at >= $5) and ($6::timestamptz is null or d.at < $6)
order by d.at desc, d.id desc limit $7 offset $8"""
COUNTED = f"""
select s.*, t.total from (
    select count(*) as total from webhook_deliveries where endpoint_id = $1 and (not $3 or error is not null)
) t left join (
    {DELIVERY} and (not $3 or d.error is not null) order by d.at desc, d.id desc limit $4 offset $5
) s on true order by s.at desc, s.id desc"""
WITH_BODY = f"""
select s.*, m.sealed from ({DELIVERY} and d.id = $3) s
left join webhook_messages m on m.event_id = s.event_id"""


async def list_overview(db: Db, owner_id: UUID) -> list[EndpointOverview]:
    rows = await db.fetch(OVERVIEW, owner_id)
    return [
        EndpointOverview(endpoint=ENDPOINTS.read(row), last=LAST.read(row) if row["last_id"] else None) for row in rows
    ]


async def find_overview(db: Db, endpoint_id: UUID, owner_id: UUID) -> EndpointOverview | None:
    row = await db.fetchrow(ONE, endpoint_id, owner_id)
    if row is None:
        return None
    return EndpointOverview(
        endpoint=ENDPOINTS.read(row), last=LAST.read(row) if row["last_id"] else None, test=_find_test(row)
    )


@custom_plans
async def list_deliveries(
    db: Db, ref: EndpointRef, wanted: DeliveryFilter, *, limit: int, offset: int
) -> list[LoggedDelivery]:
    span = wanted.span
    given = (wanted.event_type, wanted.is_delivered, span.starts_at, span.ends_before)
    return [DELIVERIES.read(row) for row in await db.fetch(FOUND, ref.id, ref.owner_id, *given, limit, offset)]


@custom_plans
async def list_attempts(
    db: Db, endpoint: Endpoint, *, only_failed: bool, limit: int, offset: int
) -> tuple[list[LoggedDelivery], int]:
    rows = await db.fetch(COUNTED, endpoint.id, endpoint.owner_id, only_failed, limit, offset)
    return [DELIVERIES.read(row) for row in rows if row["id"] is not None], rows[0]["total"]


async def find_delivery(db: Db, ref: EndpointRef, delivery_id: UUID) -> tuple[LoggedDelivery, bytes | None] | None:
    row = await db.fetchrow(WITH_BODY, ref.id, ref.owner_id, delivery_id)
    return (DELIVERIES.read(row), row["sealed"]) if row else None


def _find_test(row: Row) -> LastTest | None:
    if row["tested_at"] is None:
        return None
    state = EffectState(row["test_state"]) if row["test_state"] else None
    attempt = TESTED.read(row) if row["test_try_id"] else None
    next_try_at = row["test_next_try_at"] if state in {EffectState.QUEUED, EffectState.RUNNING} else None
    return LastTest(at=row["tested_at"], state=state, next_try_at=next_try_at, attempt=attempt)
