"""All SQL of SCIM: reading members as users, and the log of requests."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from openslot.accounts.member_store import SOURCE
from openslot.core.db import Db, Row
from openslot.core.moments import iso_of
from openslot.core.query_plans import custom_plans
from openslot.scim.filter_store import Condition
from openslot.scim.models import LoggedRequest, NewRequest, RequestFilter

OF_MEMBER = "select n.{} from memberships n where n.id = m.id"
OF_ACCOUNT = "select a.{} from memberships n join users a on a.id = n.user_id where n.id = m.id"
# `profile` stays text, so that a list of many users is assembled without parsing them. Membership and account are
# looked up only for users whom no provider has described.
SHOWN = f"""m.id, p.profile, coalesce(p.version, 1) as version,
case when p.member_id is null then ({OF_MEMBER.format("active")}) else p.active end as active,
case when p.profile is null then ({OF_ACCOUNT.format("email")}) end as email,
case when p.profile is null then ({OF_ACCOUNT.format("name")}) end as name,
{iso_of(f"coalesce(p.joined_at, ({OF_MEMBER.format('created_at')}))")} as created_at,
{iso_of(f"coalesce(p.changed_at, ({OF_MEMBER.format('updated_at')}))")} as changed_at"""
# The position of a page is found in the index alone; `offset 0` makes the planner look up each profile by itself,
# whatever its row estimates.
PROFILES = "left join lateral (select * from member_profiles where member_id = m.id offset 0) p on true order by m.id"

FIND = f"""select {SHOWN}, p.invitation_refused from memberships m left join member_profiles p on p.member_id = m.id
where m.organization_id = $1 and m.id = $2"""
LIST = f"""
select {SHOWN}, t.total
from (select coalesce((select members from member_counts where organization_id = $1), 0) as total) t
left join (select id from memberships where organization_id = $1 order by id limit $2 offset $3) m on true
{PROFILES}"""
SEARCH = f"""
with found as materialized (
    select m.id from {SOURCE} where m.organization_id = $1 and ({{condition}})
)
select {SHOWN}, t.total
from (select count(*) as total from found) t
left join (select id from found order by id limit ${{limit}} offset ${{offset}}) m on true
{PROFILES}"""


async def find_shown(db: Db, organization_id: UUID, member_id: UUID) -> Row | None:
    """Look a member up, as a row to be shown."""
    return await db.fetchrow(FIND, organization_id, member_id)


async def list_shown(
    db: Db, organization_id: UUID, condition: Condition | None, *, limit: int, offset: int
) -> tuple[list[Row], int]:
    """List members by when they joined, with how many there are in all."""
    if condition is None:
        rows = await db.fetch(LIST, organization_id, limit, offset)
    else:
        place = len(condition.args) + 2
        statement = SEARCH.format(condition=condition.sql, limit=place, offset=place + 1)
        rows = await db.fetch(statement, organization_id, *condition.args, limit, offset)
    return [row for row in rows if row["id"] is not None], rows[0]["total"]


async def has_user_name(db: Db, organization_id: UUID, user_name: str, *, besides: UUID | None) -> bool:
    """Return whether another member of the organization is shown with this userName."""
    statement = """select exists (
                select from member_profiles p
                where p.organization_id = $1 and lower(p.profile ->> 'userName') = lower($2)
                  and p.member_id is distinct from $3
                union all
                select from users u join memberships m on m.user_id = u.id
                left join member_profiles p on p.member_id = m.id
                where lower(u.email) = lower($2) and m.organization_id = $1 and p.profile is null
                  and m.id is distinct from $3)"""
    return bool(await db.fetchval(statement, organization_id, user_name, besides))


async def insert_requests(db: Db, requests: Sequence[NewRequest]) -> None:
    """Write the log of requests; those of a token that is gone have no log."""
    statement = """insert into scim_requests (token_id, at, method, path, status, member_id, user_name, detail)
        select r.* from unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::text[], $5::smallint[], $6::uuid[],
            $7::text[], $8::text[]) as r (token_id, at, method, path, status, member_id, user_name, detail)
        join scim_tokens t on t.id = r.token_id"""
    await db.execute(
        statement, *(list(column) for column in zip(*(msgspec.structs.astuple(each) for each in requests), strict=True))
    )


async def list_requests(db: Db, token_ids: Sequence[UUID], *, limit: int, offset: int) -> list[LoggedRequest]:
    """List requests made with tokens, newest first; a user who is gone is shown with the last known name."""
    statement = """select r.id, r.at, t.name as token_name, r.method, r.path, r.status, r.member_id, r.detail,
            coalesce(r.user_name, (
            select e.user_name from scim_requests e
            where e.member_id = r.member_id and e.user_name is not null order by e.id desc limit 1)) as user_name
        from scim_requests r join scim_tokens t on t.id = r.token_id
        where r.token_id = any($1) order by r.id desc limit $2 offset $3"""
    rows = await db.fetch(statement, token_ids, limit, offset)
    return [LoggedRequest(**row) for row in rows]


# Each token's newest requests are found by its own index; a request that names no user belongs to the one it is about.
SEARCH_LOG = """
select r.id, r.at, t.name as token_name, r.method, r.path, r.status, r.member_id, r.detail,
       coalesce(r.user_name, (
           select e.user_name from scim_requests e
           where e.member_id = r.member_id and e.user_name is not null order by e.id desc limit 1)) as user_name
from scim_tokens t cross join lateral (
    select * from scim_requests q
    where q.token_id = t.id and ($3::bigint is null or q.id < $3) and ($4 = '' or q.method = $4)
      and ($5::int is null or q.status / 100 = $5) and ($6 = '' or strpos(lower(q.path), lower($6)) > 0)
      and ($7 = '' or strpos(lower(q.user_name), lower($7)) > 0 or (q.user_name is null and exists (
          select from scim_requests e where e.member_id = q.member_id and strpos(lower(e.user_name), lower($7)) > 0)))
      and ($8::timestamptz is null or q.at >= $8) and ($9::timestamptz is null or q.at < $9)
    order by q.id desc limit $10
) r
where t.organization_id = $1 and ($2::uuid is null or t.id = $2)
order by r.id desc limit $10"""


@custom_plans
async def search_requests(
    db: Db, organization_id: UUID, wanted: RequestFilter, *, before_id: int | None, limit: int
) -> list[LoggedRequest]:
    """List requests made with an organization's tokens, newest first."""
    rows = await db.fetch(
        SEARCH_LOG,
        organization_id,
        wanted.token_id,
        before_id,
        wanted.method,
        int(wanted.status) if wanted.status else None,
        wanted.path,
        wanted.user,
        wanted.span.starts_at,
        wanted.span.ends_before,
        limit,
    )
    return [LoggedRequest(**row) for row in rows]
