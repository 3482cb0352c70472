"""All SQL of allowances: what was spent, who causes it, and what was refused."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from openslot.domains.allowances.models import Allowance, CauseKind, CostCause, RefusedCost
from openslot.domains.allowances.rules import KEPT, MEETINGS_READ, PARTS
from openslot.platform.core.db import Db, Row
from openslot.platform.core.rows import Rows

REFUSALS = Rows(RefusedCost, "allowance_refusals")

# What a row still counts: its parts are moved on to the newest one. A part that lies further ahead than a window was
# written before the clock was set back, and a row of another width before the rule was changed: they begin anew.
ANEW = f"a.width <> excluded.width or a.part - excluded.part > {PARTS}"
STEPS = f"least(greatest(excluded.part - a.part, 0), {KEPT})::int"
MOVED = f"""case when {ANEW} then array_fill(0, array[{KEPT}])
    else (a.spent || array_fill(0, array[{STEPS}]))[{STEPS} + 1:{STEPS} + {KEPT}] end"""
NEWEST = f"case when {ANEW} then excluded.part else greatest(a.part, excluded.part) end"
# Rows are locked in the order of their names, so that two statements never wait for each other. An insert that finds no
# row spends at once, if it is not more than is allowed at all.
SPEND = f"""
insert into allowances as a (bucket, width, part, spent, most, given, kept_until)
select bucket, width, part,
       array_fill(0, array[{PARTS}]) || case when $6::int <= most then $6::int else 0 end, most, $6::int <= most, until
from unnest($1::text[], $2::bigint[], $3::bigint[], $4::int[], $5::timestamptz[])
    as asked (bucket, width, part, most, until)
order by bucket
on conflict (bucket) do update set (width, part, spent, most, given, kept_until) = (
    select excluded.width, m.newest,
           m.spent[:{PARTS}] || m.spent[{KEPT}] + case when m.fits then $6::int else 0 end,
           excluded.most, m.fits, excluded.kept_until
    from (select t.newest, t.spent, (select sum(s) from unnest(t.spent) s) + $6::int <= excluded.most as fits
          from (select {MOVED} as spent, {NEWEST} as newest offset 0) t offset 0) m)
returning bucket, given, spent, part"""
# The rows are locked by the statement that has spent.
GIVE_BACK = f"update allowances set spent[{KEPT}] = spent[{KEPT}] - $2 where bucket = any($1::text[])"

# Whether the invitee of a booking `b` has proven the address or paid: nothing that a host could do alone and for free.
PROVEN = """
(b.email_proven
 or exists (select from payments p where p.booking_id = b.id and p.state = 'paid' and p.mode = 'live'))"""
ACCOUNT = """
select u.created_at, u.is_admin, u.signed_up,
       (u.plan <> 'FREE' and (u.plan_until is null or u.plan_until > $2)) or exists (
           select from memberships m join organizations o on o.id = m.organization_id
           where m.user_id = u.id and m.active and o.plan <> 'FREE' and (o.plan_until is null or o.plan_until > $2)
       ) as is_paid
from users u where u.id = $1"""
# People who have come, each once. The last meetings are enough, and bound how many rows are read.
MEETINGS = f"""
select count(distinct canonical_recipient(b.invitee_email))::int
from (select * from bookings where host_id = $1 and starts_at < $2 order by starts_at desc limit {MEETINGS_READ}) b
where b.status = 'CONFIRMED' and b.ends_at < $2 and {PROVEN}"""

# Whoever was told a day ago is told of what has happened since.
NOTE = """
insert into allowance_refusals as r (user_id, cost, cause, refused, most, first_at, last_at)
select user_id, cost, cause, refused, most, $6, $6
from unnest($1::uuid[], $2::text[], $3::text[], $4::int[], $5::int[]) as n (user_id, cost, cause, refused, most)
where exists (select from users u where u.id = n.user_id)
order by user_id, cost, cause
on conflict (user_id, cost, cause) do update set
    refused = case when r.last_at < $7 then 0 else r.refused end + excluded.refused,
    first_at = case when r.last_at < $7 then excluded.first_at else r.first_at end,
    most = excluded.most, last_at = excluded.last_at"""


class AskedBucket(NamedTuple):
    """What one cause is asked for."""

    bucket: str
    allowance: Allowance
    part: int

    @property
    def width(self) -> timedelta:
        return self.allowance.window / PARTS


class Note(NamedTuple):
    """A refusal that a host is told of."""

    user_id: UUID
    cost: str
    cause: CauseKind
    most: int


async def spend(db: Db, asked: Sequence[AskedBucket], amount: int, *, now: datetime) -> dict[str, Row]:
    """Spend an amount in each bucket in which it is free; return what each has, by its name."""
    rows = await db.fetch(
        SPEND,
        [each.bucket for each in asked],
        [each.width // timedelta(microseconds=1) for each in asked],
        [each.part for each in asked],
        [each.allowance.most for each in asked],
        [now + 2 * each.allowance.window for each in asked],
        amount,
    )
    return {row["bucket"]: row for row in rows}


async def give_back(db: Db, buckets: Sequence[str], amount: int) -> None:
    await db.execute(GIVE_BACK, buckets, amount)


async def find_account(db: Db, user_id: UUID, *, now: datetime, trusts_unknown: bool) -> CostCause | None:
    """Read what the allowances of an account depend on."""
    row = await db.fetchrow(ACCOUNT, user_id, now)
    if row is None:
        return None
    is_invited = trusts_unknown if row["signed_up"] is None else not row["signed_up"]
    is_trusted = is_invited or row["is_admin"] or row["is_paid"]
    return CostCause(
        kind=CauseKind.ACCOUNT,
        name=str(user_id),
        age=now - row["created_at"],
        is_trusted=is_trusted,
        # Who is trusted does not grow.
        people=0 if is_trusted else await db.fetchval(MEETINGS, user_id, now),
    )


async def note_refusals(db: Db, counted: Sequence[tuple[Note, int]], *, now: datetime, told_since: datetime) -> None:
    """Add up what was refused, for the hosts who are told."""
    notes = [note for note, _ in counted]
    await db.execute(
        NOTE,
        [each.user_id for each in notes],
        [each.cost for each in notes],
        [each.cause for each in notes],
        [refused for _, refused in counted],
        [each.most for each in notes],
        now,
        told_since,
    )


async def list_refusals(db: Db, user_id: UUID, *, since: datetime) -> list[RefusedCost]:
    statement = f"""select {REFUSALS.columns} from allowance_refusals
        where user_id = $1 and last_at > $2 order by last_at desc"""
    return [REFUSALS.read(row) for row in await db.fetch(statement, user_id, since)]


async def delete_refusals(db: Db, *, before: datetime) -> None:
    await db.execute("delete from allowance_refusals where last_at < $1", before)
