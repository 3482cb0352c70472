"""All SQL of users, their activity and the host's lock; organizations and their members have files of their own."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from uuid import UUID

from openslot.domains.accounts.models import Activity, Preferences, User, UserStatus, UserWanted
from openslot.domains.accounts.plans import Plan, PlanGrant, effective_plan
from openslot.domains.accounts.profiles.store import release
from openslot.platform.core.db import Db, Row
from openslot.platform.core.ids import new_id
from openslot.platform.core.moments import Span
from openslot.platform.core.query_plans import custom_plans
from openslot.platform.core.rows import Rows

USERS = Rows(User, "users u", given=["effective_plan"])
ACCOUNT_COLUMNS = f"{USERS.columns}, u.plan_until, u.trial_plan, u.trial_until"
PLAN_GRANTS = Rows(PlanGrant, "users")
ACTIVITIES = Rows(Activity, "events v", computed={"subject_type": "v.subject_kind"})
# An operator's plan counts, whatever is paid; those from before this was recorded have no origin.
PLAN_IS_DECIDED = "(plan_origin is not distinct from 'operator' or (plan_origin is null and plan <> 'FREE'))"
ORGANIZATION_PLAN = "o.plan || ' ' || coalesce(extract(epoch from o.plan_until)::text, '')"
# Every row that becomes a `User` brings the plans that decide which one counts.
USER_COLUMNS = f"""{ACCOUNT_COLUMNS},
array(select {ORGANIZATION_PLAN} from memberships m
      join organizations o on o.id = m.organization_id where m.user_id = u.id and m.active) as organization_plans"""


def to_user(row: Row, *, now: datetime) -> User:
    plan = effective_plan(
        (Plan(row["plan"]), row["plan_until"]),
        (Plan(row["trial_plan"]) if row["trial_plan"] else None, row["trial_until"]),
        map(_read_plan, row["organization_plans"]),
        now=now,
    )
    return USERS.read(row, effective_plan=plan)


def _read_plan(text: str) -> tuple[Plan, datetime | None]:
    plan, _, until = text.partition(" ")
    return Plan(plan), datetime.fromtimestamp(float(until), UTC) if until else None


async def find_user(db: Db, user_id: UUID, *, now: datetime) -> User | None:
    row = await db.fetchrow(f"select {USER_COLUMNS} from users u where u.id = $1", user_id)
    return to_user(row, now=now) if row else None


async def find_user_by_email(db: Db, email: str, *, now: datetime) -> User | None:
    row = await db.fetchrow(f"select {USER_COLUMNS} from users u where lower(u.email) = lower($1)", email)
    return to_user(row, now=now) if row else None


async def find_sign_in(db: Db, email: str, *, now: datetime) -> tuple[User | None, str | None]:
    statement = f"select {USER_COLUMNS}, u.password_hash from users u where lower(u.email) = lower($1)"
    row = await db.fetchrow(statement, email)
    return (to_user(row, now=now), row["password_hash"]) if row else (None, None)


async def find_password_hash(db: Db, user_id: UUID) -> str | None:
    """Read the password's hash, the one column that no `User` has."""
    found: str | None = await db.fetchval("select password_hash from users where id = $1", user_id)
    return found


async def list_plan_grants(db: Db, user_id: UUID) -> list[PlanGrant]:
    statement = """select 0 as rank, case plan_origin when 'subscription' then 'subscription' else 'own' end as origin,
            plan, plan_until as until, null as organization
        from users where id = $1
        union all select 1, 'trial', trial_plan, trial_until, null from users where id = $1 and trial_plan is not null
        union all select 2, 'organization', o.plan, o.plan_until, o.name
        from memberships m join organizations o on o.id = m.organization_id where m.user_id = $1 and m.active
        order by rank, organization"""
    return [PLAN_GRANTS.read(row) for row in await db.fetch(statement, user_id)]


@custom_plans
async def list_users(
    db: Db, *, now: datetime, search: str | None, plan: Plan | None, status: UserStatus | None, limit: int, offset: int
) -> tuple[list[User], int]:
    """List users by creation, newest first, with how many there are in all."""
    statement = f"""with found as not materialized (
            select * from users
            where ($1::text is null or strpos(lower(email), lower($1)) > 0 or strpos(lower(name), lower($1)) > 0)
              and ($4::text is null or plan = $4) and ($5::boolean is null or (disabled_at is null) = $5))
        select {USER_COLUMNS}, t.total from (select count(*) as total from found) t
        left join (select * from found order by id desc limit $2 offset $3) u on true
        order by u.id desc"""
    rows = await db.fetch(
        statement, search, limit, offset, plan, None if status is None else status is UserStatus.ACTIVE
    )
    return [to_user(row, now=now) for row in rows if row["id"] is not None], rows[0]["total"]


async def list_users_by_id(db: Db, ids: Sequence[UUID], *, now: datetime) -> dict[UUID, User]:
    rows = await db.fetch(f"select {USER_COLUMNS} from users u where u.id = any($1)", ids)
    return {row["id"]: to_user(row, now=now) for row in rows}


async def has_users(db: Db) -> bool:
    return bool(await db.fetchval("select exists (select 1 from users)"))


async def count_users(db: Db) -> tuple[int, int]:
    row = await db.fetchrow("select count(*), count(*) filter (where is_admin and disabled_at is null) from users")
    users, admins = row.values() if row else (0, 0)
    return users, admins


async def insert_user(db: Db, wanted: UserWanted, *, password_hash: str | None, now: datetime) -> UUID | None:
    """Write a new user; None if the username is taken.

    It is a unique violation if the username is reserved or the email address is taken.
    """
    statement = """insert into users
        (id, email, name, username, password_hash, plan, zone, locale, is_admin, created_at, updated_at, welcome_step,
         signed_up)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, 1, $11)
        on conflict (lower(username)) do nothing returning id"""
    made: UUID | None = await db.fetchval(
        statement,
        new_id(),
        wanted.email,
        wanted.name,
        wanted.username,
        password_hash,
        wanted.plan,
        wanted.zone,
        wanted.locale,
        wanted.is_admin,
        now,
        wanted.signed_up,
    )
    return made


async def taken_usernames(db: Db, beginning: str) -> set[str]:
    """Name the usernames that begin like this one, former ones included; those of deleted accounts are not known."""
    statement = """select lower(username) as name from users where lower(username) like $1
        union select name from former_usernames where name like $1"""
    return {row["name"] for row in await db.fetch(statement, beginning + "%")}


async def update_plan(db: Db, user_id: UUID, plan: Plan, *, until: datetime | None, now: datetime) -> None:
    statement = """update users set plan = $2, plan_until = $3, plan_origin = 'operator', updated_at = $4
        where id = $1"""
    await db.execute(statement, user_id, plan, until, now)


async def clear_plan(db: Db, user_id: UUID, *, now: datetime) -> None:
    statement = """update users set plan = 'FREE', plan_until = null, plan_origin = null, updated_at = $2
        where id = $1"""
    await db.execute(statement, user_id, now)


async def follow_subscription(db: Db, user_id: UUID, plan: Plan, *, until: datetime | None, now: datetime) -> None:
    statement = f"""update users set plan = $2, plan_until = $3, plan_origin = 'subscription', updated_at = $4
        where id = $1 and not {PLAN_IS_DECIDED}"""
    await db.execute(statement, user_id, plan, until, now)


async def is_user_plan_decided(db: Db, user_id: UUID) -> bool:
    return bool(await db.fetchval(f"select {PLAN_IS_DECIDED} from users where id = $1", user_id))


async def update_password(db: Db, user_id: UUID, password_hash: str, *, now: datetime) -> None:
    await db.execute("update users set password_hash = $2, updated_at = $3 where id = $1", user_id, password_hash, now)


async def replace_password(db: Db, user_id: UUID, *, old: str | None, new: str, now: datetime) -> bool:
    statement = """update users set password_hash = $3, updated_at = $4
        where id = $1 and password_hash is not distinct from $2 returning id"""
    return await db.fetchval(statement, user_id, old, new, now) is not None


async def update_disabled(db: Db, user_id: UUID, disabled_at: datetime | None, *, now: datetime) -> bool:
    """Close or open an account; False if it was so already, unless an organization has closed it."""
    statement = """update users set disabled_at = $2, updated_at = $3, suspended_by = null
        where id = $1 and ((disabled_at is null) <> ($2::timestamptz is null) or suspended_by is not null)
        and ($2 is not null or deleting_since is null) returning id"""
    return await db.fetchval(statement, user_id, disabled_at, now) is not None


async def update_admin(db: Db, user_id: UUID, *, is_admin: bool, now: datetime) -> None:
    await db.execute("update users set is_admin = $2, updated_at = $3 where id = $1", user_id, is_admin, now)


async def lock_administrators(db: Db) -> set[UUID]:
    """Name the administrators who can sign in, and keep others from changing who they are until the commit."""
    rows = await db.fetch("select id from users where is_admin and disabled_at is null order by id for update")
    return {row["id"] for row in rows}


async def update_left(db: Db, user_id: UUID, *, left_at: datetime) -> None:
    await db.execute("update users set left_at = $2 where id = $1", user_id, left_at)


async def update_name(db: Db, user_id: UUID, name: str, *, now: datetime) -> None:
    await db.execute("update users set name = $2, updated_at = $3 where id = $1", user_id, name, now)


async def update_email(db: Db, user_id: UUID, email: str, *, now: datetime) -> None:
    """Write a user's email address; a unique violation if another account has it."""
    await db.execute("update users set email = $2, updated_at = $3 where id = $1", user_id, email, now)


async def update_settings(db: Db, user_id: UUID, given: Mapping[str, str], *, now: datetime) -> bool:
    """Write the settings that are given, and return whether the user is an administrator now.

    It is a unique violation if the username is taken or reserved.
    """
    statement = """
        update users set name = coalesce($2, name), username = coalesce($3, username), zone = coalesce($4, zone),
            locale = coalesce($5, locale), updated_at = $6 where id = $1 returning is_admin"""
    is_admin = await db.fetchval(
        statement, user_id, *(given.get(name) for name in ("name", "username", "zone", "locale")), now
    )
    return bool(is_admin)


async def update_preferences(db: Db, user_id: UUID, wanted: Preferences) -> None:
    statement = "update users set theme = $2, hour_format = $3, first_weekday = $4 where id = $1"
    await db.execute(statement, user_id, wanted.theme, wanted.hour_format, wanted.first_weekday)


async def close_managed_account(db: Db, user_id: UUID, organization_id: UUID, *, now: datetime) -> bool:
    """Close an account on behalf of an organization; False if it was already closed."""
    statement = """update users set disabled_at = $3, updated_at = $3, suspended_by = $2
        where id = $1 and disabled_at is null returning id"""
    return await db.fetchval(statement, user_id, organization_id, now) is not None


async def reopen_managed_account(
    db: Db, user_id: UUID, organization_id: UUID, *, still_closed_by: UUID | None, now: datetime
) -> bool:
    """Open an account that this organization has closed, or leave it closed by another; False if neither was."""
    statement = """update users set disabled_at = case when $3::uuid is null then null else disabled_at end,
            suspended_by = $3, updated_at = $4
        where id = $1 and suspended_by = $2 returning disabled_at is null"""
    return bool(await db.fetchval(statement, user_id, organization_id, still_closed_by, now))


async def update_welcome_step(db: Db, user_id: UUID, step: int | None) -> None:
    await db.execute("update users set welcome_step = $2 where id = $1 and welcome_step is not null", user_id, step)


async def delete_unused_account(db: Db, user_id: UUID, *, opened_at: datetime) -> bool:
    """Delete an account that was opened at a given time for someone who has never used it; False if it is in use.

    Its username is free at once: nobody has ever shared a link with it.
    """
    statement = """
        delete from users u where u.id = $1 and u.created_at = $2 and u.password_hash is null and not u.is_admin
            and not exists (select from memberships m where m.user_id = u.id)
            and not exists (select from sessions s where s.user_id = u.id)
            and not exists (select from identities i where i.user_id = u.id)
            and not exists (select from bookings b where b.host_id = u.id)
            and not exists (select from contacts c where c.owner_id = u.id)
        returning u.username"""
    username = await db.fetchval(statement, user_id, opened_at)
    if username is None:
        return False
    await release(db, username)
    return True


# An account `u` that a provider has opened outside all verified domains, and that nobody has ever used: only whoever
# reads the mail of its address can say whose it is. A new password gives those that no provider manages to them.
UNCLAIMED = """
u.password_hash is null and not u.is_admin and u.deleting_since is null
and case when u.disabled_at is not null then u.suspended_by is not null else exists (
    select from memberships m join member_profiles p on p.member_id = m.id
    where m.user_id = u.id and p.profile is not null and not p.pending) end
and not exists (select from sessions s where s.user_id = u.id)
and not exists (select from identities i where i.user_id = u.id)
and not exists (select from domains d where d.domain = split_part(lower(u.email), '@', 2) and d.verified_at is not null)
and not exists (select from memberships m left join member_profiles p on p.member_id = m.id
    where m.user_id = u.id and p.profile is null and not coalesce(p.pending, false))"""


async def is_unclaimed(db: Db, user_id: UUID) -> bool:
    return bool(await db.fetchval(f"select exists (select from users u where u.id = $1 and {UNCLAIMED})", user_id))


async def open_claimed(db: Db, user_id: UUID, *, name: str, locale: str, password_hash: str, now: datetime) -> bool:
    """Open an account with its first password; False if it has got one meanwhile."""
    statement = """update users set name = $2, locale = $3, password_hash = $4, disabled_at = null, suspended_by = null,
            signed_up = true, updated_at = $5 where id = $1 and password_hash is null returning id"""
    return await db.fetchval(statement, user_id, name, locale, password_hash, now) is not None


# The first of the two numbers of an advisory lock, so that a host never waits for another lock with the same number.
HOSTS = 1
# The event types of teams, by the number of their rules: taken before the locks of hosts.
TEAMS = 3

# A column that makes changes of a host's time wait for each other. It is computed only for the row that is found,
# whatever the plan. Only the next statement sees what the other changes have written: this one sees the database as it
# was before the wait.
LOCK_HOST = f"take_turn({HOSTS}, u.no::int)"
# The same for the event types of teams, `r` being their rules.
LOCK_TEAM_EVENT_TYPE = f"take_turn({TEAMS}, r.no)"
# Of an event type `e` and its owner `u`: the host's lock, or that of a team's event type, whose owner need not host it.
LOCK_TIME = f"""
case when e.team_id is null then {LOCK_HOST}
     else (select {LOCK_TEAM_EVENT_TYPE} from team_rules r where r.event_type_id = e.id) end"""
TRY = "try_of_hosts"
TRY_LOCK_HOST = f"pg_try_advisory_xact_lock({HOSTS}, $1::bigint::int)"


async def lock_host(db: Db, user_id: UUID) -> None:
    await db.execute(f"select {LOCK_HOST} from users u where u.id = $1", user_id)


LOCK_EVENT_TYPES_OF_TEAMS = f"""
select {LOCK_TEAM_EVENT_TYPE} from (
    select r.no from team_rules r join event_types e on e.id = r.event_type_id
    where e.team_id = any($1) order by r.no offset 0) r"""
LOCK_TEAMMATES = f"""
select {LOCK_HOST} from (
    select u.no from users u where u.id = any($2)
    or u.id = any(array(select user_id from team_members where team_id = any($1)))
    or u.id = any(array(select owner_id from event_types where team_id = any($1)))
    or u.id = any(array(
        select m.user_id from teams t join memberships m on m.organization_id = t.organization_id
        where t.id = any($1) and m.role in ('owner', 'admin')))
    order by u.no offset 0) u"""


async def lock_leavers(db: Db, user_ids: Sequence[UUID], *, team_ids: Sequence[UUID] = ()) -> None:
    """Lock, in this order: the event types of their teams and of some more, then all hosts who may be involved.

    These are the hosts who may leave, all hosts of the teams, and those who may take an event type over.
    """
    # A host who was removed from a team may still host its bookings and requests, so their teams are locked too.
    statement = """select team_id from team_members where user_id = any($1)
        union select team_id from event_types where owner_id = any($1) and team_id is not null
        union select e.team_id from booking_hosts h join bookings b on b.id = h.booking_id
        join event_types e on e.id = b.event_type_id
        where h.user_id = any($1) and b.status in ('CONFIRMED', 'PENDING_CONFIRMATION') and e.team_id is not null"""
    rows = await db.fetch(statement, user_ids)
    teams = [*team_ids, *(row["team_id"] for row in rows)]
    if teams:
        await db.execute(LOCK_EVENT_TYPES_OF_TEAMS, teams)
    await db.execute(LOCK_TEAMMATES, teams, user_ids)


async def lock_hosts(db: Db, user_ids: Collection[UUID]) -> None:
    """Wait for the locks of several hosts, in the order of everybody else."""
    await db.execute(LOCK_TEAMMATES, [], list(user_ids))


async def lock_for_try(db: Db, host_nos: Collection[int]) -> None:
    """Wait for the locks of several hosts, in the order of everybody else, in a savepoint: all in one round trip.

    `give_back` ends what was tried, with the locks. The commit needs no other end of the savepoint.
    """
    turns = "; ".join(f"select take_turn({HOSTS}, {no:d})" for no in sorted(host_nos))
    await db.execute(f"savepoint {TRY}; {turns}")


async def give_back(db: Db) -> None:
    """Undo what was done since the last `lock_for_try`, and give back its locks."""
    await db.execute(f"rollback to savepoint {TRY}")


async def try_lock_host(db: Db, host_no: int) -> bool:
    """Take the host's lock until the commit; False if another transaction holds it."""
    return bool(await db.fetchval(f"select {TRY_LOCK_HOST}", host_no))


@custom_plans
async def list_activity(db: Db, user_id: UUID, *, span: Span, limit: int, offset: int) -> tuple[list[Activity], int]:
    """List what happened to a user's account and all that belongs to it, newest first, with how many there are."""
    statement = f"""with found as not materialized (
            select * from events where tenant_id = $1
              and ($2::timestamptz is null or at >= $2) and ($3::timestamptz is null or at < $3))
        select {ACTIVITIES.columns}, t.total from (select count(*) as total from found) t
        left join (select * from found order by no desc limit $4 offset $5) v on true order by v.no desc"""
    rows = await db.fetch(statement, user_id, span.starts_at, span.ends_before, limit, offset)
    return [ACTIVITIES.read(row) for row in rows if row["id"] is not None], rows[0]["total"]


async def close_for_good(db: Db, user_id: UUID, *, now: datetime) -> bool:
    """Close an account that is to be deleted; False if it is being deleted already, or gone."""
    statement = """update users set deleting_since = $2, disabled_at = coalesce(disabled_at, $2), updated_at = $2,
            suspended_by = null
        where id = $1 and deleting_since is null returning id"""
    return await db.fetchval(statement, user_id, now) is not None


async def is_leaving(db: Db, user_id: UUID) -> bool:
    """Return whether an account is being deleted, or is gone."""
    return not await db.fetchval("select exists (select from users where id = $1 and deleting_since is null)", user_id)
