"""All SQL of SCIM groups: filters as conditions, and teams as groups."""

from collections.abc import Collection, Sequence
from uuid import UUID

from openslot.doors.scim.attributes import CORE
from openslot.doors.scim.filters import And, AttributePath, Comparison, Filter, Value, ValuePath
from openslot.doors.scim.store import Condition, is_core, refuse_filter
from openslot.platform.core.db import Db, Row
from openslot.platform.core.query_plans import custom_plans
from openslot.platform.core.times import iso_of

SUPPORTED = (
    "Supported are eq, co and sw on displayName, externalId and id, eq on members.value, and terms joined by and"
)
COLUMNS = {"displayname": "t.name", "externalid": "t.external_id", "id": "t.id::text"}
CASE_EXACT = frozenset({"externalid", "id"})
MEMBERS = """(select json_agg(json_build_object('value', m.id, 'type', 'User') order by m.id)::text
    from team_members k join memberships m on m.user_id = k.user_id and m.organization_id = t.organization_id
    where k.team_id = t.id)"""
OF_MEMBER = """exists (select from team_members k
    join memberships m on m.user_id = k.user_id and m.organization_id = t.organization_id
    where k.team_id = t.id and m.id::text = {value})"""


class GroupCondition(Condition):
    """A filter as a condition on `t`, a team; `$1` is the organization."""

    def _write(self, term: Filter) -> str:
        match term:
            case And(terms):
                return " and ".join(f"({self._write(each)})" for each in terms)
            case Comparison(path, operator, value) if _names(path, "members") or _names(path, "members", "value"):
                return self._write_member(operator, value)
            case ValuePath(path, Comparison(inner, operator, value)) if _names(path, "members"):
                if not _names(inner, "value"):
                    raise refuse_filter(SUPPORTED)
                return self._write_member(operator, value)
            case Comparison(path, operator, value):
                return self._write_column(path, operator, value)
        raise refuse_filter(SUPPORTED)

    def _write_column(self, path: AttributePath, operator: str, value: Value) -> str:
        name = path.name.lower()
        if not _names(path, name) or name not in COLUMNS:
            raise refuse_filter(SUPPORTED)
        return self._write_test(COLUMNS[name], operator, value, case_exact=name in CASE_EXACT)

    def _write_member(self, operator: str, value: Value) -> str:
        if operator != "eq":
            raise refuse_filter(SUPPORTED)
        return OF_MEMBER.format(value=self._bind(value))


def _names(path: AttributePath, name: str, part: str | None = None) -> bool:
    # A path that begins with the schema of groups has none of the schemas of users.
    return is_core(AttributePath(path.schema or CORE, path.name, path.part), name, part)


# Of those that a provider has deleted although something was booked, it is told no more.
SEEN = "where t.organization_id = $1 and t.held_at is null"


def _shown(*, with_members: bool) -> str:
    return f"""t.id, t.name, t.external_id, t.version, {iso_of("t.created_at")} as created_at,
        {iso_of("t.updated_at")} as updated_at, {MEMBERS if with_members else "null"} as members"""


async def find_shown(db: Db, organization_id: UUID, team_id: UUID, *, with_members: bool) -> Row | None:
    statement = f"select {_shown(with_members=with_members)} from teams t {SEEN} and t.id = $2"
    return await db.fetchrow(statement, organization_id, team_id)


@custom_plans
async def list_shown(
    db: Db, organization_id: UUID, condition: GroupCondition | None, *, with_members: bool, limit: int, offset: int
) -> tuple[list[Row], int]:
    """List the teams that a filter finds in the order in which they were made, and how many there are."""
    args = condition.args if condition else []
    place = len(args) + 2
    statement = f"""with found as materialized (
            select t.* from teams t {SEEN} and ({condition.sql if condition else "true"}))
        select {_shown(with_members=with_members)}, n.total
        from (select count(*) as total from found) n
        left join (select * from found order by id limit ${place} offset ${place + 1}) t on true order by t.id"""
    rows = await db.fetch(statement, organization_id, *args, limit, offset)
    return [row for row in rows if row["id"] is not None], rows[0]["total"]


async def lock_team(db: Db, organization_id: UUID, team_id: UUID) -> bool:
    """Keep others from changing a team until the commit; False if it is not there."""
    statement = f"select t.id from teams t {SEEN} and t.id = $2 for no key update"
    return await db.fetchval(statement, organization_id, team_id) is not None


async def list_users(db: Db, organization_id: UUID, member_ids: Collection[str]) -> dict[str, UUID]:
    """Find the accounts of an organization's members by the ids that providers know, compared as text."""
    statement = "select id::text as id, user_id from memberships where organization_id = $1 and id::text = any($2)"
    rows: Sequence[Row] = await db.fetch(statement, organization_id, list(member_ids))
    return {row["id"]: row["user_id"] for row in rows}


async def list_members(db: Db, team_id: UUID) -> dict[str, UUID]:
    """List who is in a team by the ids that providers know."""
    statement = """select m.id::text as id, k.user_id from team_members k join teams t on t.id = k.team_id
        join memberships m on m.user_id = k.user_id and m.organization_id = t.organization_id where t.id = $1"""
    return {row["id"]: row["user_id"] for row in await db.fetch(statement, team_id)}
