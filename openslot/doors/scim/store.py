"""All SQL of SCIM: filters as conditions, members as users, and the log of requests."""

from collections.abc import Sequence
from uuid import UUID

from msgspec.structs import astuple

from openslot.domains.accounts.members.store import SHOWN_NAME, SOURCE
from openslot.doors.scim.attributes import CORE, USER
from openslot.doors.scim.errors import InvalidFilter
from openslot.doors.scim.filters import And, AttributePath, Comparison, Filter, Value, ValuePath, part_of, to_boolean
from openslot.doors.scim.models import LoggedRequest, NewRequest, RequestFilter
from openslot.platform.core.db import Db, Row
from openslot.platform.core.query_plans import custom_plans
from openslot.platform.core.times import iso_of

SUPPORTED = (
    "Supported are eq, co and sw on userName, externalId, emails.value, displayName and id, "
    'eq on active, emails[type eq "work"], and terms joined by and'
)
# A member that was not created by a provider is shown with the account's data.
COLUMNS = {
    "username": "case when p.profile is null then u.email else p.profile ->> 'userName' end",
    "displayname": f"case when p.profile is null then {SHOWN_NAME} else p.profile ->> 'displayName' end",
    "externalid": "p.profile ->> 'externalId'",
    "id": "m.id::text",
}
CASE_EXACT = frozenset({"externalid", "id"})
EMAILS = """case when p.profile is null
    then json_build_array(json_build_object('value', u.email, 'type', 'work', 'primary', true))
    else coalesce(p.profile -> 'emails', '[]') end"""
ACTIVE = "case when p.member_id is null then m.active else p.active end"
# Two indexes are used instead of a scan of all members, because providers look up a userName before each change.
USER_NAME_EQ = """m.id in (
    select n.member_id from member_profiles n
    where n.organization_id = $1 and lower(n.profile ->> 'userName') = lower({value})
    union all
    select n.id from users a join memberships n on n.user_id = a.id left join member_profiles q on q.member_id = n.id
    where lower(a.email) = lower({value}) and n.organization_id = $1 and q.profile is null)"""
# The id is compared as text, so that a malformed id is simply not found.
TESTS = {"eq": "{found} = {value}", "co": "strpos({found}, {value}) > 0", "sw": "starts_with({found}, {value})"}

_EMAILS = next(each for each in USER if each.name == "emails")


class Condition:
    """A filter as a condition on `m`, a membership, `p`, its profile, `u`, its account; `$1` is the organization."""

    def __init__(self, term: Filter) -> None:
        self.args: list[str | bool] = []
        self.sql = self._write(term)

    def _write(self, term: Filter) -> str:
        match term:
            case And(terms):
                return " and ".join(f"({self._write(each)})" for each in terms)
            case Comparison(path, operator, value):
                return self._write_comparison(path, operator, value)
            case ValuePath(path, inner) if is_core(path, "emails"):
                return self._write_any_email(inner)
        raise refuse_filter()

    def _write_comparison(self, path: AttributePath, operator: str, value: Value) -> str:
        if is_core(path, "active"):
            return self._write_boolean(ACTIVE, operator, value)
        if is_core(path, "emails") or is_core(path, "emails", "value"):
            return self._write_any_email(Comparison(AttributePath(CORE, "value"), operator, value))
        name = path.name.lower()
        if not is_core(path, name) or name not in COLUMNS:
            raise refuse_filter()
        if name == "username" and operator == "eq":
            return USER_NAME_EQ.format(value=self._bind(value))
        return self._write_test(COLUMNS[name], operator, value, case_exact=name in CASE_EXACT)

    def _write_any_email(self, inner: Filter) -> str:
        return f"exists (select from json_array_elements({EMAILS}) e where {self._write_email(inner)})"

    def _write_email(self, term: Filter) -> str:
        match term:
            case And(terms):
                return " and ".join(f"({self._write_email(each)})" for each in terms)
            case Comparison(path, operator, value):
                part = part_of(_EMAILS, path)
                if part.name == "primary":
                    return self._write_boolean("coalesce((e ->> 'primary')::boolean, false)", operator, value)
                return self._write_test(f"e ->> '{part.name}'", operator, value, case_exact=False)
        raise refuse_filter()

    def _write_boolean(self, found: str, operator: str, value: Value) -> str:
        wanted = to_boolean(value)
        if operator != "eq" or wanted is None:
            raise refuse_filter()
        self.args.append(wanted)
        return f"{found} = ${len(self.args) + 1}::boolean"

    def _write_test(self, found: str, operator: str, value: Value, *, case_exact: bool) -> str:
        if operator not in TESTS:
            raise refuse_filter()
        bound = self._bind(value)
        if case_exact:
            return TESTS[operator].format(found=f"({found})", value=bound)
        return TESTS[operator].format(found=f"lower({found})", value=f"lower({bound})")

    def _bind(self, value: Value) -> str:
        if not isinstance(value, str):
            raise InvalidFilter("The value must be a string in double quotes")
        if "\x00" in value:
            raise InvalidFilter("The value has characters that are not allowed")
        self.args.append(value)
        return f"${len(self.args) + 1}::text"


def is_core(path: AttributePath, name: str, part: str | None = None) -> bool:
    found = (path.name.lower(), path.part.lower() if path.part else None)
    return path.schema == CORE and found == (name, part)


def refuse_filter(supported: str = SUPPORTED) -> InvalidFilter:
    return InvalidFilter(f"This filter is not supported. {supported}")


OF_MEMBER = "select n.{} from memberships n where n.id = m.id"
OF_ACCOUNT = "select {} from memberships n join users u on u.id = n.user_id where n.id = m.id"
# `profile` stays text, so that a list of many users is assembled without parsing them. Membership and account are
# looked up only for users whom no provider has described.
SHOWN = f"""m.id, p.profile, coalesce(p.version, 1) as version,
case when p.member_id is null then ({OF_MEMBER.format("active")}) else p.active end as active,
case when p.profile is null then ({OF_ACCOUNT.format("u.email")}) end as email,
case when p.profile is null then ({OF_ACCOUNT.format(SHOWN_NAME)}) end as name,
(select json_agg(json_build_object('value', t.id, 'display', t.name, 'type', 'direct') order by t.id)::text
    from memberships n join team_members k on k.user_id = n.user_id
    join teams t on t.id = k.team_id and t.organization_id = n.organization_id and t.held_at is null
    where n.id = m.id) as groups,
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


def write_search(condition: str, *, limit: int, offset: int) -> str:
    return f"""
with found as materialized (
    select m.id from {SOURCE} where m.organization_id = $1 and ({condition})
)
select {SHOWN}, t.total
from (select count(*) as total from found) t
left join (select id from found order by id limit ${limit} offset ${offset}) m on true
{PROFILES}"""


async def find_shown(db: Db, organization_id: UUID, member_id: UUID) -> Row | None:
    return await db.fetchrow(FIND, organization_id, member_id)


async def list_shown(
    db: Db, organization_id: UUID, condition: Condition | None, *, limit: int, offset: int
) -> tuple[list[Row], int]:
    if condition is None:
        rows = await db.fetch(LIST, organization_id, limit, offset)
    else:
        place = len(condition.args) + 2
        statement = write_search(condition.sql, limit=place, offset=place + 1)
        rows = await db.fetch(statement, organization_id, *condition.args, limit, offset)
    return [row for row in rows if row["id"] is not None], rows[0]["total"]


async def has_user_name(db: Db, organization_id: UUID, user_name: str, *, besides: UUID | None) -> bool:
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
    statement = """insert into scim_requests (at, method, path, status, member_id, user_name, detail, token_id)
        select r.* from unnest($1::timestamptz[], $2::text[], $3::text[], $4::smallint[], $5::uuid[], $6::text[],
            $7::text[], $8::uuid[]) as r (at, method, path, status, member_id, user_name, detail, token_id)
        join scim_tokens t on t.id = r.token_id"""
    await db.execute(statement, *map(list, zip(*map(astuple, requests), strict=True)))


LOGGED = """r.id, r.at, t.name as token_name, r.method, r.path, r.status, r.member_id, r.detail,
    coalesce(r.user_name, (
        select e.user_name from scim_requests e
        where e.member_id = r.member_id and e.user_name is not null order by e.id desc limit 1)) as user_name"""


async def list_requests(db: Db, token_ids: Sequence[UUID], *, limit: int, offset: int) -> list[LoggedRequest]:
    """List requests made with tokens, newest first; a user who is gone is shown with the last known name."""
    statement = f"""select {LOGGED} from scim_requests r join scim_tokens t on t.id = r.token_id
        where r.token_id = any($1) order by r.id desc limit $2 offset $3"""
    return [LoggedRequest(**row) for row in await db.fetch(statement, token_ids, limit, offset)]


# Each token's newest requests are found by its own index; a request that names no user belongs to the one it is about.
SEARCH_LOG = f"""
select {LOGGED} from scim_tokens t cross join lateral (
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
