"""All SQL of teams, their members, and the groups of which their event types pick hosts."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec
from msgspec.structs import replace

from openslot.domains.accounts.members.store import SHOWN_NAME
from openslot.domains.accounts.store import LOCK_EVENT_TYPES_OF_TEAMS, LOCK_TEAM_EVENT_TYPE, LOCK_TEAMMATES
from openslot.domains.teams.models import (
    Attributes,
    GroupMember,
    GroupWanted,
    HostGroup,
    HostWanted,
    ListedTeam,
    ListedTeamMember,
    Team,
    TeamMember,
    TeamRules,
)
from openslot.platform.core.db import Db, Row
from openslot.platform.core.ids import new_id
from openslot.platform.core.rows import Rows

TEAMS = Rows(Team, "teams t")
CHANGEABLE = TEAMS.stored.only("name", "slug", "zone", "external_id", "held_at", "updated_at")
MEMBERS = Rows(TeamMember, "team_members k")
MEMBER_CHANGES = MEMBERS.stored.only("weight", "priority", "is_manager", "attributes")
RULES = Rows(TeamRules, "team_rules r")
GROUPS = Rows(HostGroup, "host_groups g", prefix="g_")

ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
# What an identity provider says of the membership `m`, as plain attributes, and over it what the team says of `k`.
_PROVIDED = ", ".join(
    [f"'{name}', p.profile ->> '{name}'" for name in ("title", "preferredLanguage", "locale", "timezone")]
    + [
        f"'{name}', p.profile -> '{ENTERPRISE}' ->> '{name}'"
        for name in ("department", "division", "costCenter", "organization", "employeeNumber")
    ]
)
ATTRIBUTES = f"""(coalesce((select jsonb_strip_nulls(jsonb_build_object({_PROVIDED}))
    from member_profiles p where p.member_id = m.id), '{{}}') || k.attributes)"""
# Members of teams `k` with the account `u` behind them; those who are no members of the organization are not there.
PEOPLE = """team_members k join teams t on t.id = k.team_id
join memberships m on m.organization_id = t.organization_id and m.user_id = k.user_id
join users u on u.id = k.user_id"""
CAN_HOST = "m.active and u.disabled_at is null"


def is_managed(user_id: str) -> str:
    """Write whether somebody manages the team of the event type `e`."""
    return f"""exists (
    select from {PEOPLE} where t.id = e.team_id and u.id = {user_id} and k.is_manager and {CAN_HOST})"""


def is_colleague(user_id: str) -> str:
    """Write whether somebody is an active member of the organization that has the team of the event type `e`."""
    return f"""exists (
    select from teams t join memberships m on m.organization_id = t.organization_id join users u on u.id = m.user_id
    where t.id = e.team_id and u.id = {user_id} and {CAN_HOST})"""


# Who is in the group `g` at this moment and can host. Values of attributes are compared in any letter case.
HOSTS_OF_GROUPS = """host_groups g join event_types e on e.id = g.event_type_id
join team_members k on k.team_id = e.team_id join teams t on t.id = k.team_id
join memberships m on m.organization_id = t.organization_id and m.user_id = k.user_id and m.active
join users u on u.id = k.user_id and u.disabled_at is null
left join host_group_members h on h.group_id = g.id and h.user_id = k.user_id"""
IS_IN_GROUP = f"""case when g.filter is null then coalesce(h.listed, false) else not exists (
    select from jsonb_each(g.filter) f where not exists (
        select from jsonb_array_elements_text(f.value) v(value)
        where lower(v.value) = lower({ATTRIBUTES} ->> f.key))) end"""
_STANDING = "y.listed, y.weight, y.priority, y.credit, y.last_no"
# The same, where who is listed is found first, and then each by a key (`offset 0`), however many others there are.
_LISTED_FIRST = f"""host_groups g
cross join lateral (
    select t.id, t.organization_id from event_types e join teams t on t.id = e.team_id
    where e.id = g.event_type_id offset 0) t
cross join lateral (
    select y.user_id, {_STANDING} from host_group_members y where g.filter is null and y.group_id = g.id and y.listed
    union all
    select x.user_id, {_STANDING} from team_members x
    left join host_group_members y on y.group_id = g.id and y.user_id = x.user_id
    where g.filter is not null and x.team_id = t.id) h
cross join lateral (select * from team_members x where x.team_id = t.id and x.user_id = h.user_id offset 0) k
cross join lateral (
    select * from memberships x
    where x.organization_id = t.organization_id and x.user_id = h.user_id and x.active offset 0) m
cross join lateral (select * from users x where x.id = h.user_id and x.disabled_at is null offset 0) u"""


def write_members(columns: str, *, event_type: str = "$1") -> str:
    """Write the SQL of who is in the groups of an event type."""
    return f"select {columns} from {_LISTED_FIRST} where g.event_type_id = {event_type} and {IS_IN_GROUP}"


GROUP_MEMBERS = Rows(
    GroupMember,
    "host_group_members h",
    computed={
        "group_id": "g.id",
        "user_id": "u.id",
        "host_no": "u.no",
        "name": "u.name",
        "email": "u.email",
        "zone": "u.zone",
        "weight": "coalesce(h.weight, k.weight)",
        "priority": "coalesce(h.priority, k.priority)",
        "credit": "coalesce(h.credit, 0)",
        "last_no": "coalesce(h.last_no, 0)",
    },
)
LIST_GROUP_MEMBERS = f"""select {GROUP_MEMBERS.columns} from {HOSTS_OF_GROUPS}
where g.event_type_id = $1 and {IS_IN_GROUP} order by g.position, u.no"""

_read_attributes = msgspec.json.Decoder(Attributes).decode


async def insert_team(db: Db, team: Team) -> None:
    await db.execute(TEAMS.insert(), *TEAMS.values(team))


async def update_team(db: Db, team: Team) -> int | None:
    """Write a team as its next version, and return that; None if it is gone."""
    statement = f"""update teams set {CHANGEABLE.assign(first=2)}, version = version + 1
        where id = $1 returning version"""
    version: int | None = await db.fetchval(statement, team.id, *CHANGEABLE.values(team))
    return version


async def touch_team(db: Db, team_id: UUID, *, now: datetime) -> None:
    """Write that who belongs to a team has changed."""
    await db.execute("update teams set version = version + 1, updated_at = $2 where id = $1", team_id, now)


async def delete_team(db: Db, team_id: UUID) -> bool:
    return await db.fetchval("delete from teams where id = $1 returning id", team_id) is not None


async def find_team(db: Db, organization_id: UUID, team_id: UUID) -> Team | None:
    row = await db.fetchrow(
        f"select {TEAMS.columns} from teams t where t.organization_id = $1 and t.id = $2", organization_id, team_id
    )
    return TEAMS.read(row) if row else None


async def find_held(db: Db, organization_id: UUID, name: str) -> Team | None:
    statement = f"""select {TEAMS.columns} from teams t
        where t.organization_id = $1 and lower(t.name) = lower($2) and t.held_at is not null"""
    row = await db.fetchrow(statement, organization_id, name)
    return TEAMS.read(row) if row else None


async def find_team_by_slug(db: Db, slug: str) -> Team | None:
    row = await db.fetchrow(f"select {TEAMS.columns} from teams t where lower(t.slug) = lower($1)", slug)
    return TEAMS.read(row) if row else None


async def find_team_of(db: Db, event_type_id: UUID) -> Team | None:
    row = await db.fetchrow(
        f"select {TEAMS.columns} from event_types e join teams t on t.id = e.team_id where e.id = $1", event_type_id
    )
    return TEAMS.read(row) if row else None


async def list_teams(db: Db, organization_id: UUID | None, *, user_id: UUID | None = None) -> list[ListedTeam]:
    """List the teams of an organization, or all, or those in which a user is, by name."""
    statement = f"""select {TEAMS.columns},
            (select count(*) from team_members k join memberships m on m.user_id = k.user_id
             where k.team_id = t.id and m.organization_id = t.organization_id) as members,
            (select count(*) from event_types e where e.team_id = t.id) as event_types,
            coalesce(own.is_manager, false) as is_managed
        from teams t left join team_members own on own.team_id = t.id and own.user_id = $2
        where ($1::uuid is null or t.organization_id = $1) and ($2::uuid is null or own.user_id is not null)
        order by lower(t.name), t.id"""
    return [_to_listed(row) for row in await db.fetch(statement, organization_id, user_id)]


async def list_teams_of_user(db: Db, user_id: UUID) -> list[Team]:
    """List the teams in which a user is, by name."""
    statement = f"select {TEAMS.columns} from {PEOPLE} where k.user_id = $1 order by lower(t.name), t.id"
    return [TEAMS.read(row) for row in await db.fetch(statement, user_id)]


async def list_teams_of_member(db: Db, organization_id: UUID, user_id: UUID) -> list[Team]:
    """List the teams of an organization in which somebody is, also if they are no members of it any more."""
    statement = f"""select {TEAMS.columns} from team_members k join teams t on t.id = k.team_id
        where t.organization_id = $1 and k.user_id = $2 order by t.id"""
    return [TEAMS.read(row) for row in await db.fetch(statement, organization_id, user_id)]


async def list_slugs(db: Db, *, beginning: str) -> set[str]:
    rows = await db.fetch("select lower(slug) as slug from teams where starts_with(lower(slug), $1)", beginning)
    return {row["slug"] for row in rows}


async def find_common_zone(db: Db, organization_id: UUID) -> str | None:
    """Find the time zone that most members of an organization have, without those who have yet to accept."""
    statement = """select u.zone from memberships m join users u on u.id = m.user_id
        left join member_profiles p on p.member_id = m.id
        where m.organization_id = $1 and not coalesce(p.pending, false)
        group by u.zone order by count(*) desc, u.zone limit 1"""
    zone: str | None = await db.fetchval(statement, organization_id)
    return zone


async def lock_event_types(db: Db, team_id: UUID) -> None:
    """Wait for the locks of all event types of a team."""
    await db.execute(LOCK_EVENT_TYPES_OF_TEAMS, [team_id])


async def lock_event_type(db: Db, event_type_id: UUID) -> None:
    """Wait for the lock of an event type of a team, which comes before those of its hosts."""
    await db.execute(f"select {LOCK_TEAM_EVENT_TYPE} from team_rules r where r.event_type_id = $1", event_type_id)


async def lock_teammates(db: Db, team_id: UUID, user_ids: Sequence[UUID] = ()) -> None:
    """Wait for the locks of all members of a team and of some more hosts, in the order of all locks of hosts."""
    await db.execute(LOCK_TEAMMATES, [team_id], user_ids)


async def lock_hosts(db: Db, user_ids: Sequence[UUID]) -> None:
    await db.execute(LOCK_TEAMMATES, [], user_ids)


async def is_manager(db: Db, team_id: UUID, user_id: UUID) -> bool:
    statement = f"select exists (select from {PEOPLE} where t.id = $1 and u.id = $2 and k.is_manager and {CAN_HOST})"
    return bool(await db.fetchval(statement, team_id, user_id))


async def insert_member(db: Db, member: TeamMember) -> None:
    await db.execute(MEMBERS.insert(), *MEMBERS.values(member))


async def update_member(db: Db, member: TeamMember) -> bool:
    statement = f"""update team_members set {MEMBER_CHANGES.assign(first=3)}
        where team_id = $1 and user_id = $2 returning user_id"""
    values = MEMBER_CHANGES.values(member)
    return await db.fetchval(statement, member.team_id, member.user_id, *values) is not None


async def delete_member(db: Db, team_id: UUID, user_id: UUID) -> bool:
    statement = "delete from team_members where team_id = $1 and user_id = $2 returning user_id"
    return await db.fetchval(statement, team_id, user_id) is not None


async def unlist_member(db: Db, team_id: UUID, user_id: UUID) -> None:
    """Take somebody out of the groups of a team in which they are listed; what is left of their credit stays."""
    statement = """update host_group_members h set listed = false from host_groups g, event_types e
        where h.group_id = g.id and g.event_type_id = e.id and e.team_id = $1 and h.user_id = $2 and h.listed"""
    await db.execute(statement, team_id, user_id)


async def find_member(db: Db, team_id: UUID, user_id: UUID) -> TeamMember | None:
    """Look up somebody's place in a team, also if they are no members of the organization at this moment."""
    statement = f"select {MEMBERS.columns} from team_members k where k.team_id = $1 and k.user_id = $2"
    row = await db.fetchrow(statement, team_id, user_id)
    return MEMBERS.read(row) if row else None


async def list_members(db: Db, team_id: UUID) -> list[ListedTeamMember]:
    statement = f"""select {MEMBERS.columns}, m.id as member_id, {SHOWN_NAME} as name, u.email,
            {CAN_HOST} as can_host, {ATTRIBUTES} as all_attributes
        from {PEOPLE} left join member_profiles p on p.member_id = m.id
        where t.id = $1 order by lower({SHOWN_NAME}), u.no"""
    return [_to_member(row) for row in await db.fetch(statement, team_id)]


async def list_member_ids(db: Db, team_id: UUID) -> set[UUID]:
    rows = await db.fetch(f"select k.user_id from {PEOPLE} where t.id = $1", team_id)
    return {row["user_id"] for row in rows}


async def list_organization_members(db: Db, organization_id: UUID, user_ids: Sequence[UUID]) -> set[UUID]:
    statement = "select user_id from memberships where organization_id = $1 and user_id = any($2)"
    return {row["user_id"] for row in await db.fetch(statement, organization_id, user_ids)}


async def list_owned(db: Db, organization_id: UUID, owner_id: UUID) -> list[tuple[UUID, UUID]]:
    """List the event types of an organization's teams that a user owns, each with its team."""
    statement = """select e.id, e.team_id from event_types e join teams t on t.id = e.team_id
        where t.organization_id = $1 and e.owner_id = $2 order by e.id"""
    return [(row["id"], row["team_id"]) for row in await db.fetch(statement, organization_id, owner_id)]


async def list_teams_owned_in(db: Db, owner_id: UUID) -> list[Team]:
    """List the teams that have event types of an owner, one for each organization."""
    statement = f"""select distinct on (t.organization_id) {TEAMS.columns}
        from event_types e join teams t on t.id = e.team_id where e.owner_id = $1 order by t.organization_id, t.id"""
    return [TEAMS.read(row) for row in await db.fetch(statement, owner_id)]


async def find_successor(db: Db, team_id: UUID, *, leaver_id: UUID) -> UUID | None:
    """Find who takes over from an owner who leaves: a manager of the team, or else an owner or administrator."""
    statement = """select u.id from teams t join memberships m on m.organization_id = t.organization_id and m.active
            join users u on u.id = m.user_id and u.disabled_at is null and u.deleting_since is null
            left join team_members k on k.team_id = t.id and k.user_id = u.id
        where t.id = $1 and u.id <> $2 and (coalesce(k.is_manager, false) or m.role in ('owner', 'admin'))
        order by coalesce(k.is_manager, false) desc, k.user_id is null, m.role = 'owner' desc, k.joined_at, u.no
        limit 1"""
    found: UUID | None = await db.fetchval(statement, team_id, leaver_id)
    return found


async def insert_rules(db: Db, rules: TeamRules) -> None:
    await db.execute(RULES.insert(), *RULES.values(rules))


async def update_rules(db: Db, rules: TeamRules) -> bool:
    part = RULES.stored.without("event_type_id")
    statement = f"update team_rules set {part.assign(first=2)} where event_type_id = $1 returning no"
    return await db.fetchval(statement, rules.event_type_id, *part.values(rules)) is not None


async def find_rules(db: Db, event_type_id: UUID) -> TeamRules | None:
    row = await db.fetchrow(f"select {RULES.columns} from team_rules r where r.event_type_id = $1", event_type_id)
    return RULES.read(row) if row else None


async def list_groups(db: Db, event_type_id: UUID) -> list[HostGroup]:
    statement = f"select {GROUPS.columns} from host_groups g where g.event_type_id = $1 order by g.position"
    return [GROUPS.read(row) for row in await db.fetch(statement, event_type_id)]


async def insert_group(db: Db, event_type_id: UUID, position: int, wanted: GroupWanted) -> UUID:
    group = HostGroup(
        id=new_id(), event_type_id=event_type_id, position=position, pick=wanted.pick, filter=wanted.filter
    )
    await db.execute(GROUPS.insert(), *GROUPS.values(group))
    await replace_listed(db, group.id, wanted.hosts)
    return group.id


async def update_group(db: Db, group: HostGroup) -> None:
    part = GROUPS.stored.only("position", "pick", "filter")
    await db.execute(f"update host_groups set {part.assign(first=2)} where id = $1", group.id, *part.values(group))


async def replace_listed(db: Db, group_id: UUID, hosts: Sequence[HostWanted]) -> None:
    """List these hosts in a group and no others; the credit of all of them stays."""
    await db.execute(
        "update host_group_members set listed = false where group_id = $1 and user_id <> all($2)",
        group_id,
        [host.user_id for host in hosts],
    )
    await db.executemany(
        """insert into host_group_members (group_id, user_id, listed, weight, priority) values ($1, $2, true, $3, $4)
        on conflict (group_id, user_id) do update
        set listed = true, weight = excluded.weight, priority = excluded.priority""",
        [(group_id, host.user_id, host.weight, host.priority) for host in hosts],
    )


async def delete_groups(db: Db, event_type_id: UUID, *, keeping: Sequence[UUID]) -> None:
    """Delete the other groups of an event type, with their credits, and free the places of those that are kept."""
    await db.execute("delete from host_groups where event_type_id = $1 and id <> all($2)", event_type_id, keeping)
    await db.execute("update host_groups set position = -1 - position where event_type_id = $1", event_type_id)


async def find_hosting(db: Db, event_type_id: UUID) -> tuple[TeamRules, list[GroupWanted]] | None:
    """Find the rules of an event type, and its groups as they were asked for, with who is listed in each."""
    statement = f"""select {RULES.columns}, {GROUPS.columns}, h.user_id, h.weight, h.priority
        from team_rules r left join host_groups g on g.event_type_id = r.event_type_id
        left join host_group_members h on h.group_id = g.id and h.listed and g.filter is null
        left join users u on u.id = h.user_id
        where r.event_type_id = $1 order by g.position, u.no"""
    rows = await db.fetch(statement, event_type_id)
    if not rows:
        return None
    groups: dict[UUID, GroupWanted] = {}
    for row in rows:
        if row["g_id"] is None:
            continue
        group = GROUPS.read(row)
        wanted = groups.get(group.id) or GroupWanted(id=group.id, pick=group.pick, filter=group.filter)
        if row["user_id"] is not None:
            host = HostWanted(user_id=row["user_id"], weight=row["weight"], priority=row["priority"])
            wanted = replace(wanted, hosts=(*wanted.hosts, host))
        groups[group.id] = wanted
    return RULES.read(rows[0]), list(groups.values())


async def list_group_members(db: Db, event_type_id: UUID) -> list[GroupMember]:
    return [GROUP_MEMBERS.read(row) for row in await db.fetch(LIST_GROUP_MEMBERS, event_type_id)]


def _to_listed(row: Row) -> ListedTeam:
    return ListedTeam(
        team=TEAMS.read(row), members=row["members"], event_types=row["event_types"], is_managed=row["is_managed"]
    )


def _to_member(row: Row) -> ListedTeamMember:
    return ListedTeamMember(
        member=MEMBERS.read(row),
        member_id=row["member_id"],
        name=row["name"],
        email=row["email"],
        attributes=_read_attributes(row["all_attributes"]),
        is_active=row["can_host"],
    )
