"""SQL of visits, of the sign-up funnel, and of the platform's figures that are not kept by day."""

from collections.abc import Mapping
from datetime import date, datetime
from uuid import UUID

from openslot.domains.accounts.plans import Plan, effective_plan
from openslot.domains.analytics.models import (
    CountedViews,
    FunnelCount,
    FunnelStep,
    LogCount,
    PageView,
    PlanCount,
    SubscriptionCount,
    TopEventType,
)
from openslot.platform.core.db import Db, count_of
from openslot.platform.core.events import Change
from openslot.platform.core.query_plans import custom_plans
from openslot.platform.core.sources import OTHER

# Any fixed number: writers wait for each other, so that the number of sources is exact and no two block each other.
LOCK = 5_034


async def lock_views(db: Db) -> None:
    """Wait for other writers; the lock is held until the transaction ends."""
    await db.execute("select pg_advisory_xact_lock($1)", LOCK)


async def add_views(db: Db, views: Mapping[PageView, int], *, max_sources: int) -> None:
    """Add counts; a page has a limited number of sources a day, and further ones are counted together.

    Pages of a team's event types count for their owner, whose name is not in their addresses.
    """
    rows = list(views.items())
    statement = """
        with seen as (
            select u.id as host_id, v.event_type_id, coalesce(v.event_type_id, u.id) as page_id,
                v.on_day, v.source, v.views
            from unnest($1::text[], $2::uuid[], $3::date[], $4::text[], $5::bigint[])
                as v (username, event_type_id, on_day, source, views)
            left join event_types e on e.id = v.event_type_id
            join users u on u.id = case when e.team_id is null
                then (select x.id from users x where lower(x.username) = lower(v.username)) else e.owner_id end
            where v.event_type_id is null or e.owner_id = u.id
        ), placed as (
            select s.*, k.source is not null as is_known,
                (select count(*) from page_views p where p.page_id = s.page_id and p.on_day = s.on_day)
                + row_number() over (partition by s.page_id, s.on_day, k.source is null order by s.source) as place
            from seen s left join page_views k
                on k.page_id = s.page_id and k.on_day = s.on_day and k.source = s.source
        )
        insert into page_views as p (host_id, event_type_id, on_day, source, views)
        select host_id, event_type_id, on_day, case when is_known or place <= $6 then source else $7 end, sum(views)
        from placed group by 1, 2, 3, 4
        on conflict (page_id, on_day, source) do update set views = p.views + excluded.views
        """
    await db.execute(
        statement,
        [view.username for view, _ in rows],
        [view.event_type_id for view, _ in rows],
        [view.on for view, _ in rows],
        [view.source for view, _ in rows],
        [count for _, count in rows],
        max_sources,
        OTHER,
    )


@custom_plans
async def list_views(db: Db, host_id: UUID, *, first: date, last: date) -> list[CountedViews]:
    """List a host's counts of some days, newest day first, the largest count of a day first."""
    statement = """select event_type_id, on_day as "on", source, views from page_views
        where host_id = $1 and on_day between $2 and $3 order by on_day desc, views desc, source, event_type_id"""
    rows = await db.fetch(statement, host_id, first, last)
    return [CountedViews(**row) for row in rows]


async def delete_old_views(db: Db, *, before: date, limit: int) -> int:
    statement = "delete from page_views where ctid = any(array(select ctid from page_views where on_day < $1 limit $2))"
    return count_of(await db.execute(statement, before, limit))


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
    statement = """insert into funnel_visits as v (on_day, visits) values ($1, $2)
        on conflict (on_day) do update set visits = v.visits + excluded.visits"""
    await db.execute(statement, on, visits)


@custom_plans
async def list_counts(db: Db, *, first: date, last: date) -> list[FunnelCount]:
    statement = """
        select on_day as "on", $3::text as step, visits as count from funnel_visits where on_day between $1 and $2
        union all
        select (at at time zone 'UTC')::date, step, count(*) from funnel_steps
        where at >= ($1::date)::timestamp at time zone 'UTC' and at < ($2::date + 1)::timestamp at time zone 'UTC'
        group by 1, 2 order by 1, 2"""
    rows = await db.fetch(statement, first, last, FunnelStep.VISITED)
    return [FunnelCount(on=row["on"], step=FunnelStep(row["step"]), count=row["count"]) for row in rows]


async def delete_old_steps(db: Db, *, before: datetime, limit: int) -> int:
    statement = "delete from funnel_steps where ctid = any(array(select ctid from funnel_steps where at < $1 limit $2))"
    return count_of(await db.execute(statement, before, limit))


async def delete_old_visits(db: Db, *, before: date) -> int:
    return count_of(await db.execute("delete from funnel_visits where on_day < $1", before))


# What is in a log until its retention ends. Email that stays in the embedded mailbox is not sent.
LOGS = """
select utc_day(created_at) as "on", 'email' as channel, 'outbound' as direction,
    case when status = 'sent' and transport is not distinct from 'mailbox' then 'mailbox' else status end as status,
    count(*) as amount, 0::bigint as seconds
from mail_messages where created_at >= $1 and created_at < $2 group by 1, 4
union all select utc_day(m.at), c.channel, m.direction, m.status, count(*), 0
from messages m join conversations c on c.id = m.conversation_id where m.at >= $1 and m.at < $2 group by 1, 2, 3, 4
union all select utc_day(started_at), 'voice', direction, coalesce(status, 'running'), count(*),
    sum(duration_seconds)::bigint
from calls where started_at >= $1 and started_at < $2 group by 1, 3, 4
union all select utc_day(at), 'webhook', 'outbound',
    case when status between 200 and 299 then 'delivered' else 'failed' end, count(*), 0
from webhook_deliveries where at >= $1 and at < $2 group by 1, 4
union all select on_date, 'spend', 'outbound', 'micros', spent_micros, 0 from agent_spend
where agent = '*' and on_date >= utc_day($1) and on_date < utc_day($2)"""
TOP_EVENT_TYPES = """
with top as (
    select event_type_id, count(*) as bookings from bookings
    where created_at >= $1 and created_at < $2 and status not in ('PENDING_PAYMENT', 'PENDING_CONFIRMATION')
    group by 1 order by 2 desc, 1 limit $3
)
select e.id, e.owner_id, e.name, e.slug, t.bookings, coalesce((
    select sum(v.views) from page_views v
    where v.event_type_id = e.id and v.on_day >= utc_day($1) and v.on_day < utc_day($2)), 0)::bigint as visits
from top t join event_types e on e.id = t.event_type_id order by t.bookings desc, e.id"""
# Whether a plan runs is all that is left of its end: then few groups remain, and `effective_plan` decides each once.
PLANS = """
select u.plan, coalesce(u.plan_until > $1, true) as runs,
    case when u.trial_until > $1 then u.trial_plan end as trial,
    coalesce(o.plans, '{}') as organizations, count(*) as users
from users u left join lateral (
    select array_agg(distinct o.plan order by o.plan) as plans from memberships m
    join organizations o on o.id = m.organization_id
    where m.user_id = u.id and m.active and coalesce(o.plan_until > $1, true)) o on true
group by 1, 2, 3, 4"""
SUBSCRIPTIONS = """
select plan, status, mode, count(*) as subscriptions from subscribers where subscription_id is not null
group by 1, 2, 3 order by 1, 2, 3"""


@custom_plans
async def list_logs(db: Db, *, since: datetime, until: datetime) -> list[LogCount]:
    return [LogCount(**row) for row in await db.fetch(LOGS, since, until)]


@custom_plans
async def list_top_event_types(db: Db, *, since: datetime, until: datetime, limit: int) -> list[TopEventType]:
    return [TopEventType(**row) for row in await db.fetch(TOP_EVENT_TYPES, since, until, limit)]


@custom_plans
async def count_plans(db: Db, *, now: datetime) -> list[PlanCount]:
    return [
        PlanCount(
            own=Plan(row["plan"]),
            effective=effective_plan(
                (Plan(row["plan"]), None if row["runs"] else now),
                (Plan(row["trial"]) if row["trial"] else None, None),
                [(Plan(plan), None) for plan in row["organizations"]],
                now=now,
            ),
            on_trial=row["trial"] is not None,
            users=row["users"],
        )
        for row in await db.fetch(PLANS, now)
    ]


async def count_subscriptions(db: Db) -> list[SubscriptionCount]:
    return [SubscriptionCount(**row) for row in await db.fetch(SUBSCRIPTIONS)]


async def has_event_type(db: Db, event_type_id: UUID) -> bool:
    return bool(await db.fetchval("select exists (select from event_types where id = $1)", event_type_id))
