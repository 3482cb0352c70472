"""All SQL of the roster, of images and of budgets: two rows for a spend, that of all and the agent's, locked so."""

from collections.abc import Collection, Sequence
from datetime import date, datetime
from typing import NamedTuple
from uuid import UUID

from openslot.domains.access.models import CredentialKind
from openslot.domains.access.store import BUCKETS, LAST_STAMP
from openslot.doors.agents.models import AgentImage, AgentSetup, Level
from openslot.doors.agents.rules import warning_at
from openslot.platform.core.db import Db, Row, count_of
from openslot.platform.core.events import Change
from openslot.platform.core.rows import Rows

AGENTS = Rows(
    AgentSetup,
    "agents g",
    computed={
        "active_keys": """(select count(*) from agent_keys k where k.agent = g.slug and k.revoked_at is null
            and (k.expires_at is null or k.expires_at > now()))""",
        "last_used_at": f"""(select max(greatest(k.last_used_at, {LAST_STAMP})) from agent_keys k
            left join rate_log r on r.bucket = '{BUCKETS[CredentialKind.AGENT_KEY]}' || k.id where k.agent = g.slug)""",
    },
)

IMAGES = Rows(AgentImage, "agent_images")


async def list_agents(db: Db) -> list[AgentSetup]:
    return [AGENTS.read(row) for row in await db.fetch(f"select {AGENTS.columns} from agents g order by slug")]


async def lock_agent(db: Db, slug: str) -> AgentSetup | None:
    row = await db.fetchrow(f"select {AGENTS.columns} from agents g where slug = $1 for update", slug)
    return AGENTS.read(row) if row is not None else None


async def set_level(db: Db, slug: str, level: Level) -> None:
    await db.execute("update agents set autonomy_level = $2 where slug = $1", slug, level)


async def note_client(db: Db, slug: str, name: str | None, version: str | None, *, now: datetime) -> None:
    statement = "update agents set client_name = $2, client_version = $3, connected_at = $4 where slug = $1"
    await db.execute(statement, slug, name, version, now)


async def set_scopes(db: Db, slug: str, scopes: Collection[str]) -> None:
    await db.execute("update agents set scopes = $2 where slug = $1", slug, sorted(scopes))


def insert_image(image: AgentImage, body: bytes) -> Change:
    """Write an image when the transaction of its call is committed."""
    return Change(IMAGES.insert("body"), (*IMAGES.values(image), body))


async def find_image(db: Db, image_id: UUID, *, now: datetime) -> bytes | None:
    statement = "select body from agent_images where id = $1 and expires_at > $2"
    body: bytes | None = await db.fetchval(statement, image_id, now)
    return body


async def delete_expired_images(db: Db, *, now: datetime, limit: int) -> int:
    statement = """delete from agent_images where id = any(array(
            select id from agent_images where expires_at <= $1 order by expires_at limit $2))"""
    return count_of(await db.execute(statement, now, limit))


ALL = "*"
SPEND_COLUMNS = "agent, spent_micros, reserved_micros, reported_micros, uncounted_micros"

PREPARE = f"""
insert into agent_spend (on_date, agent) select $1, who from unnest(array['{ALL}', $2::text]) as who order by who
on conflict do nothing"""


# Both rows are locked before they are compared, so the values are those after every spend before this one. The agent's
# own row is locked last: the order is the same in every statement here.
def _write_locked(condition: str = "") -> str:
    return f"""
locked as materialized (
    select {SPEND_COLUMNS} from agent_spend
    where on_date = $3 and agent in ('{ALL}', $2) {condition}
    order by agent for update
)"""


RESERVE = f"""
with {_write_locked()}, verdict as materialized (
    select count(*) = 2 and bool_and(
        spent_micros + reserved_micros + $4
            <= case agent when '{ALL}' then $6::bigint + uncounted_micros else $5 end) as fits
    from locked
), taken as (
    update agent_spend s set reserved_micros = s.reserved_micros + $4
    from locked l, verdict v where v.fits and s.on_date = $3 and s.agent = l.agent
), kept as (
    insert into agent_reservations (id, agent, on_date, micros, at)
    select $1::uuid, $2::text, $3::date, $4::bigint, $7::timestamptz from verdict where fits
)
select l.*, v.fits from locked l, verdict v"""

# The reservation may have been given back meanwhile; what was spent counts nevertheless. It is deleted before the rows
# are locked, because those who give back many do the same. Of what an agent reports, the row of all agents counts only
# what the agent's other spends leave of its cap.
FINISH = f"""
with gone as materialized (
    delete from agent_reservations where id = $1 returning micros
), {_write_locked("and (select count(*) from gone) >= 0")}, beyond as materialized (
    select uncounted_micros as before, greatest(reported_micros + $8::bigint
        - greatest($7::bigint - (spent_micros - reported_micros + $4 - $8::bigint), 0), 0) as now
    from locked where agent = $2
)
update agent_spend s set spent_micros = s.spent_micros + $4,
    reserved_micros = s.reserved_micros - coalesce((select micros from gone), 0),
    reported_micros = s.reported_micros + $8,
    uncounted_micros = s.uncounted_micros + b.now - b.before,
    warned_by = coalesce(s.warned_by, case when $4 > 0
        and s.spent_micros + $4 >= case s.agent when '{ALL}' then $6::bigint else $5 end then $1 end)
from locked l, beyond b where s.on_date = $3 and s.agent = l.agent
returning s.agent, s.spent_micros, s.reserved_micros, coalesce(s.warned_by = $1, false) as is_warned"""


class Spend(NamedTuple):
    """One spend: its id, whose it is, the day it counts for, and how much it is."""

    id: UUID
    agent: str
    on: date
    micros: int


class BudgetLimits(NamedTuple):
    """The agent's own and the global one, in micro-dollars."""

    own: int
    all: int


async def reserve(db: Db, spend: Spend, caps: BudgetLimits, *, now: datetime) -> list[Row]:
    """Reserve a spend if it fits; return the rows of all agents and of this one, as they were before."""
    arguments = (*spend, *caps, now)
    rows = await db.fetch(RESERVE, *arguments)
    if len(rows) < 2:
        await db.execute(PREPARE, spend.on, spend.agent)
        rows = await db.fetch(RESERVE, *arguments)
    return rows


async def finish(db: Db, spend: Spend, caps: BudgetLimits, *, reported: int = 0) -> list[Row]:
    """Turn a reservation into what was really spent; return the rows as they are now."""
    return await db.fetch(FINISH, *spend, *map(warning_at, caps), caps.own, reported)


async def report(db: Db, spend: Spend, caps: BudgetLimits) -> list[Row]:
    """Add what was spent without a reservation, even past the cap; return the rows as they are now."""
    await db.execute(PREPARE, spend.on, spend.agent)
    return await finish(db, spend, caps, reported=spend.micros)


async def find_spending(db: Db, agent: str, on: date) -> Row | None:
    return await db.fetchrow(f"select {SPEND_COLUMNS} from agent_spend where on_date = $1 and agent = $2", on, agent)


async def list_spending(db: Db, on: date) -> dict[str, Row]:
    rows = await db.fetch(f"select {SPEND_COLUMNS} from agent_spend where on_date = $1", on)
    return {row["agent"]: row for row in rows}


async def list_abandoned(db: Db, *, before: datetime, limit: int) -> Sequence[Spend]:
    statement = "select id, agent, on_date, micros from agent_reservations where at <= $1 order by at limit $2"
    rows = await db.fetch(statement, before, limit)
    return [Spend(row["id"], row["agent"], row["on_date"], row["micros"]) for row in rows]
