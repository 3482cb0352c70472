"""All SQL of webhooks."""

from datetime import datetime
from uuid import UUID

from msgspec import Raw

from openslot.domains.webhooks.models import Attempt, Endpoint, EndpointRef, OutgoingMessage, PastEvent
from openslot.domains.webhooks.rules import FAILS_AT_MOST
from openslot.domains.webhooks.schemas import PUBLISHED
from openslot.platform.core.db import Db, Row, count_of
from openslot.platform.core.events import Change
from openslot.platform.core.moments import Span
from openslot.platform.core.query_plans import custom_plans
from openslot.platform.core.rows import Rows

DELIVER = "webhooks.send"

ENDPOINTS = Rows(Endpoint, "webhook_endpoints e")
CHANGED = ENDPOINTS.stored.without("id", "owner_id", "previous_until", "created_at")
ATTEMPTS = Rows(Attempt, "webhook_deliveries d")
OWN = "e.id = $1 and ($2::uuid is null or e.owner_id = $2)"
EVENT_COLUMNS = "v.id, v.type, v.at, v.public, v.subject_kind || ':' || v.subject_id as subject"

# Who has chosen none gets all but those that came later, which nobody may expect.
BY_NAME = ", ".join(f"'{one.event.type}'" for one in PUBLISHED if one.by_name)


def _is_chosen(type_: str, chosen: str) -> str:
    return f"({type_} = any({chosen}) or ({chosen} = '{{}}' and {type_} not in ({BY_NAME})))"


LISTENING = f"""
from webhook_endpoints e
where e.owner_id = v.tenant_id and e.state = 'active' and {_is_chosen("v.type", "e.events")}"""
# `offset 0` keeps the planner from reading all endpoints in order to look one up among them.
HAS_LISTENERS = f"exists (select {LISTENING} offset 0)"
LISTENERS = f"""
select {EVENT_COLUMNS}, array(select e.id {LISTENING} order by e.id) as listeners from events v where v.id = $1"""

# The bytes of a body never change once they are stored.
KEEP_MESSAGE = """
insert into webhook_messages (event_id, sealed, kept_since) values ($1, $2, $3)
on conflict (event_id) do update set kept_since = excluded.kept_since returning sealed"""

MESSAGE = f"""
select {ENDPOINTS.columns}, e.secret, e.previous_secret, m.sealed, exists (
    select from webhook_deliveries d join effects f on f.id = $4
    where d.endpoint_id = e.id and d.event_id = $3 and d.error is null and d.effect_id <> $4 and d.at > f.created_at
) as is_delivered
from webhook_endpoints e left join webhook_messages m on m.event_id = $3 where {OWN}"""

LOG = f"""
insert into webhook_deliveries ({ATTEMPTS.stored.columns})
select {ATTEMPTS.stored.parameters()} from webhook_endpoints where id = $2"""

# After days without a single try the endpoint's state is unknown, so the failure period starts again.
FAILED = """
update webhook_endpoints e set failing_since = case
    when e.failing_since is null then $2::timestamptz
    when exists (
        select from webhook_deliveries d
        where d.endpoint_id = e.id and d.id <> $3 and d.at > $2::timestamptz - $4::interval)
    then e.failing_since else $2 end
where e.id = $1 returning failing_since"""

IN_SPAN = f"""
select {EVENT_COLUMNS} from events v
where v.tenant_id = $1 and v.public is not null and {_is_chosen("v.type", "$3::text[]")}
  and ($4::timestamptz is null or v.at >= $4) and ($5::timestamptz is null or v.at < $5)
  and not exists (select from effects f where f.event_id = v.id and f.reaction = $6 and f.target = $2
      and f.state = any($7))
order by v.no limit $8"""
COUNT_IN_SPAN = f"select count(*) from ({IN_SPAN}) s"

# The last removed event keeps its place, so that a reader who has read up to it can continue from there.
FEED = f"""
with start as (
    select case when $2::uuid is not null then (select no from event_feed where event_id = $2 and tenant_id = $1)
        else coalesce((
            select case when exists (select from events where id = f.event_id) then f.no - 1 else f.no end
            from event_feed f where f.tenant_id = $1 order by f.no limit 1), 0) end as no,
        (select no from event_feed where tenant_id = $1 order by no limit 1) > 1 as is_cut
)
select s.no as place, s.is_cut, e.* from start s left join lateral (
    select {EVENT_COLUMNS}, f.no from (
        select event_id, no from event_feed
        where tenant_id = $1 and no > s.no and {_is_chosen("type", "$3::text[]")} order by no limit $4
    ) f join events v on v.id = f.event_id
) e on true order by e.no"""

# `offset 0` makes the planner look up each one by itself.
DELETE_MESSAGES = """
delete from webhook_messages where kept_since < $1 and event_id = any(array(
    select event_id from webhook_messages m where kept_since < $1 and not exists (
        select from effects f where f.event_id = m.event_id and f.state in ('waiting', 'queued', 'running') offset 0)
    order by kept_since limit $2))"""
FORGET_SECRETS = """
update webhook_endpoints set previous_secret = null, previous_until = null where previous_until < $1"""

# Deliveries in the log can be read and sent again, so their events are kept.
LOGGED_EVENT = "select from webhook_deliveries d where d.event_id = v.id"


def to_past_event(row: Row) -> PastEvent:
    """Make an event of a row that has `EVENT_COLUMNS`; the text of its data stays as it is."""
    data = Raw((row["public"] or "null").encode())
    return PastEvent(id=row["id"], type=row["type"], at=row["at"], data=data, subject=row["subject"])


async def insert_endpoint(db: Db, endpoint: Endpoint, sealed: bytes, *, max_: int) -> bool:
    """Write a new endpoint; False if its owner has as many as one may have."""
    # The lock on the owner's row keeps two concurrent inserts from exceeding the limit together.
    await db.execute("select from users where id = $1 for no key update", endpoint.owner_id)
    count = await db.fetchval("select count(*) from webhook_endpoints where owner_id = $1", endpoint.owner_id)
    if count >= max_:
        return False
    await db.execute(ENDPOINTS.insert("secret"), *ENDPOINTS.values(endpoint), sealed)
    return True


async def find_endpoint(db: Db, ref: EndpointRef, *, lock: bool = False) -> Endpoint | None:
    ending = " for no key update" if lock else ""
    statement = f"select {ENDPOINTS.columns} from webhook_endpoints e where {OWN}{ending}"
    row = await db.fetchrow(statement, ref.id, ref.owner_id)
    return ENDPOINTS.read(row) if row else None


@custom_plans
async def list_endpoints(db: Db, owner_id: UUID | None) -> list[Endpoint]:
    statement = f"""select {ENDPOINTS.columns} from webhook_endpoints e where $1::uuid is null or e.owner_id = $1
        order by e.created_at, e.id"""
    rows = await db.fetch(statement, owner_id)
    return [ENDPOINTS.read(row) for row in rows]


async def update_endpoint(db: Db, endpoint: Endpoint) -> None:
    statement = f"update webhook_endpoints set {CHANGED.assign(first=3)} where id = $1 and owner_id = $2"
    await db.execute(statement, endpoint.id, endpoint.owner_id, *CHANGED.values(endpoint))


async def rotate_secret(db: Db, endpoint: Endpoint, sealed: bytes) -> None:
    """Write a new secret and keep the previous one until the endpoint's `previous_until`."""
    statement = """
        update webhook_endpoints set previous_secret = secret, secret = $3, previous_until = $4, updated_at = $5
        where id = $1 and owner_id = $2"""
    await db.execute(statement, endpoint.id, endpoint.owner_id, sealed, endpoint.previous_until, endpoint.updated_at)


async def delete_endpoint(db: Db, ref: EndpointRef) -> bool:
    return (
        await db.fetchval(f"delete from webhook_endpoints e where {OWN} returning e.id", ref.id, ref.owner_id)
        is not None
    )


async def get_listeners(db: Db, event_id: UUID) -> tuple[PastEvent, list[UUID]]:
    """Read an event and the active endpoints of its tenant that subscribe to it."""
    row = await db.fetchrow(LISTENERS, event_id)
    if row is None:
        raise LookupError(f"there is no event {event_id}")
    return to_past_event(row), list(row["listeners"])


async def keep_body(db: Db, event_id: UUID, sealed: bytes, *, now: datetime) -> bytes:
    """Store an event's body, unless there is one already, and return the stored one."""
    kept: bytes = await db.fetchval(KEEP_MESSAGE, event_id, sealed, now)
    return kept


async def replace_body(db: Db, event_id: UUID, sealed: bytes) -> None:
    """Replace a stored body that can no longer be opened."""
    await db.execute("update webhook_messages set sealed = $2 where event_id = $1", event_id, sealed)


async def find_message(db: Db, ref: EndpointRef, *, event_id: UUID, effect_id: UUID) -> OutgoingMessage | None:
    row = await db.fetchrow(MESSAGE, ref.id, ref.owner_id, event_id, effect_id)
    if row is None:
        return None
    return OutgoingMessage(
        endpoint=ENDPOINTS.read(row),
        secret=row["secret"],
        previous_secret=row["previous_secret"],
        sealed_body=row["sealed"],
        is_delivered=row["is_delivered"],
    )


def insert_attempt(attempt: Attempt) -> Change:
    """Log one try, unless its endpoint has been deleted meanwhile."""
    return Change(LOG, tuple(ATTEMPTS.values(attempt)))


def note_success(endpoint_id: UUID) -> Change:
    """Forget that an endpoint has failed; one that hasn't is not written to."""
    statement = "update webhook_endpoints set failing_since = null where id = $1 and failing_since is not null"
    return Change(statement, (endpoint_id,))


async def note_failure(db: Db, attempt: Attempt) -> datetime | None:
    """Return since when every try at an endpoint has failed; None if the endpoint is gone."""
    since: datetime | None = await db.fetchval(FAILED, attempt.endpoint_id, attempt.at, attempt.id, FAILS_AT_MOST)
    return since


async def find_attempt(db: Db, attempt_id: UUID, *, owner_id: UUID | None) -> tuple[Endpoint, PastEvent] | None:
    statement = """
        select d.endpoint_id, d.event_id from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id
        where d.id = $1 and ($2::uuid is null or e.owner_id = $2)"""
    row = await db.fetchrow(statement, attempt_id, owner_id)
    if row is None:
        return None
    endpoint = await find_endpoint(db, EndpointRef(row["endpoint_id"], owner_id))
    event = await db.fetchrow(f"select {EVENT_COLUMNS} from events v where v.id = $1", row["event_id"])
    return (endpoint, to_past_event(event)) if endpoint and event else None


@custom_plans
async def list_events_in(
    db: Db, endpoint: Endpoint, span: Span, *, but: tuple[str, ...], limit: int
) -> list[PastEvent]:
    """List the events of a span that an endpoint wants, but those with a delivery in one of some states."""
    return [to_past_event(row) for row in await db.fetch(IN_SPAN, *_wanted_in(endpoint, span), but, limit)]


@custom_plans
async def count_events_in(db: Db, endpoint: Endpoint, span: Span, *, but: tuple[str, ...], limit: int) -> int:
    return int(await db.fetchval(COUNT_IN_SPAN, *_wanted_in(endpoint, span), but, limit))


def _wanted_in(endpoint: Endpoint, span: Span) -> tuple[object, ...]:
    return endpoint.owner_id, str(endpoint.id), endpoint.events, span.starts_at, span.ends_before, DELIVER


async def list_feed(
    db: Db, tenant_id: UUID, *, after: UUID | None, types: tuple[str, ...], limit: int
) -> tuple[list[PastEvent] | None, bool]:
    """List a tenant's events after a given one in the order in which they became visible; None if it does not exist.

    Also return whether older events were removed.
    """
    rows = await db.fetch(FEED, tenant_id, after, types, limit)
    is_cut = bool(rows[0]["is_cut"])
    if rows[0]["place"] is None:
        return None, is_cut
    return [to_past_event(row) for row in rows if row["id"] is not None], is_cut


async def delete_messages(db: Db, before: datetime, *, limit: int) -> int:
    """Remove bodies that have not been needed for a long time and that no delivery waits for."""
    return count_of(await db.execute(DELETE_MESSAGES, before, limit))


async def forget_secrets(db: Db, *, now: datetime) -> None:
    await db.execute(FORGET_SECRETS, now)
