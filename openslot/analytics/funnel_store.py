"""All SQL of the sign-up funnel."""

from datetime import date, datetime
from uuid import UUID

from openslot.analytics.models import FunnelCount, FunnelStep
from openslot.core.changes import Change
from openslot.core.db import Db, count_of
from openslot.core.query_plans import custom_plans

# Only accounts that came by the form count; an address counts once, and not where it has an account already.
SIGNED_UP = """
insert into funnel_steps (account_id, step, at) select s.id, $2::text, $3::timestamptz from sign_ups s
where s.id = $1::uuid and not exists (select from users u where lower(u.email) = lower(s.email))
    and not exists (select from sign_ups e where lower(e.email) = lower(s.email)
        and (e.created_at, e.id) < (s.created_at, s.id))
on conflict do nothing"""
# The step of the sign-up becomes the account's; two sign-ups at the same moment may both have counted.
TAKEN_OVER = """
update funnel_steps set account_id = $1::uuid where (account_id, step) = (
    select f.account_id, f.step from funnel_steps f join sign_ups e on e.id = f.account_id
    where lower(e.email) = lower($2::text) and f.step = $3::text order by e.created_at, e.id limit 1)"""
VERIFIED = """
insert into funnel_steps (account_id, step, at) values ($1::uuid, $2::text, $3::timestamptz) on conflict do nothing"""
LATER = """
insert into funnel_steps (account_id, step, at) select f.account_id, $2::text, $3::timestamptz from funnel_steps f
where f.account_id = $1::uuid and f.step = $4::text on conflict do nothing"""


def write_signed_up(sign_up_id: UUID, *, at: datetime) -> Change:
    """Write the step of somebody who has sent the form."""
    return Change(SIGNED_UP, (sign_up_id, FunnelStep.SIGNED_UP, at))


def write_verified(user_id: UUID, email: str, *, at: datetime) -> tuple[Change, Change]:
    """Write the step of an account that was opened, and give it that of its sign-up."""
    return (
        Change(TAKEN_OVER, (user_id, email, FunnelStep.SIGNED_UP)),
        Change(VERIFIED, (user_id, FunnelStep.VERIFIED, at)),
    )


def write_step(user_id: UUID, step: FunnelStep, *, at: datetime) -> Change:
    """Write a later step of an account, if the account came by the form and has not taken the step before."""
    return Change(LATER, (user_id, step, at, FunnelStep.VERIFIED))


async def add_visits(db: Db, on: date, visits: int) -> None:
    """Add visits of the form."""
    await db.execute(
        """insert into funnel_visits as v (on_day, visits) values ($1, $2)
        on conflict (on_day) do update set visits = v.visits + excluded.visits""",
        on,
        visits,
    )


@custom_plans
async def list_counts(db: Db, *, first: date, last: date) -> list[FunnelCount]:
    """List how often each step was taken on each of some days, the first day first."""
    rows = await db.fetch(
        """select on_day as "on", $3::text as step, visits as count from funnel_visits where on_day between $1 and $2
        union all
        select (at at time zone 'UTC')::date, step, count(*) from funnel_steps
        where at >= ($1::date)::timestamp at time zone 'UTC' and at < ($2::date + 1)::timestamp at time zone 'UTC'
        group by 1, 2 order by 1, 2""",
        first,
        last,
        FunnelStep.VISITED,
    )
    return [FunnelCount(on=row["on"], step=FunnelStep(row["step"]), count=row["count"]) for row in rows]


async def delete_old_steps(db: Db, *, before: datetime, limit: int) -> int:
    """Remove steps that were taken long ago."""
    tag = await db.execute(
        "delete from funnel_steps where ctid = any(array(select ctid from funnel_steps where at < $1 limit $2))",
        before,
        limit,
    )
    return count_of(tag)


async def delete_old_visits(db: Db, *, before: date) -> int:
    """Remove counts of days long past; there is one a day."""
    return count_of(await db.execute("delete from funnel_visits where on_day < $1", before))
