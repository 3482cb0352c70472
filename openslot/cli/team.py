"""team …: teams of organizations, who belongs to them, and the event types that they host together."""

from collections.abc import Mapping, Sequence
from typing import Annotated, TypeVar
from uuid import UUID

import typer
from msgspec.structs import fields, replace

from openslot.cli import team_ledger
from openslot.cli.command import command, group
from openslot.cli.output import Answer, TableRows, pick
from openslot.cli.team_ledger import Slug
from openslot.domains.accounts.operations import get_user_by_email
from openslot.domains.accounts.organizations.operations import get_organization
from openslot.domains.event_types.models import EventType, Limits
from openslot.domains.event_types.operations import draft_event_type
from openslot.domains.people import team_leavers
from openslot.domains.schedules.operations import list_schedules
from openslot.domains.teams import hosting
from openslot.domains.teams import operations as teams
from openslot.domains.teams.errors import TeamMemberNotFound
from openslot.domains.teams.models import (
    Attributes,
    Balance,
    GroupWanted,
    HostWanted,
    ListedTeamMember,
    Team,
    TeamRules,
)
from openslot.platform.core.errors import Invalid, require
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Work

app = group("Teams of organizations, whose members host event types together.")
member_app = group("Members of a team.")
event_type_app = group("Event types that members of a team host.")
app.add_typer(member_app, name="member")
app.add_typer(event_type_app, name="event-type")
app.add_typer(team_ledger.app)

Email = Annotated[str, typer.Argument(help="The member's email address")]
Weight = Annotated[int | None, typer.Option(help="Share of the bookings compared with others, from 0 to 1000")]
Priority = Annotated[int | None, typer.Option(help="From 0 to 3: the highest who are free come first")]
Manager = Annotated[bool | None, typer.Option("--manager/--no-manager", help="Whether they manage the team")]
AttributeWords = Annotated[
    list[str] | None, typer.Option("--attribute", help="Such as language=de; without a value it is removed")
]
Groups = Annotated[
    list[str],
    typer.Option("--group", help="Whom to pick: 'pick=1 of=a@x,b@x:200:3', 'pick=1 of=all' or 'pick=2 language=de,fr'"),
]
Bound = Annotated[int | None, typer.Option(help="0: no limit")]
EventTypeId = Annotated[UUID, typer.Argument(help="The id of the event type")]
EVERYBODY = "all"
RULE_NAMES = " ".join(field.name for field in fields(TeamRules) if field.name != "event_type_id")
R = TypeVar("R", TeamRules, Limits)


@command(app, "create")
async def create_team(
    work: Work,
    name: Annotated[str, typer.Argument(help="The team's name")],
    organization: Annotated[str, typer.Option(help="The organization's slug")],
    slug: Annotated[str | None, typer.Option(help="Address of its page; by default made from the name")] = None,
    zone: Annotated[str | None, typer.Option(help="Time zone; by default that of most members")] = None,
) -> Answer:
    """Create a team of an organization."""
    found = await get_organization(work, organization)
    made = await teams.add_team(work, found, name=name, slug=slug, zone=zone)
    return Answer(_shape(made), f"{made.slug}: {made.name}, {made.zone}")


@command(app, "list")
async def list_teams(
    work: Work, organization: Annotated[str | None, typer.Option(help="The organization's slug")] = None
) -> Answer:
    """List the teams of an organization, or all, by name."""
    of = await get_organization(work, organization) if organization else None
    found = await teams.list_teams(work, of)
    rows = [(each.team.slug, each.team.name, each.team.zone, each.members, each.event_types) for each in found]
    shown = [{**_shape(each.team), "members": each.members, "eventTypes": each.event_types} for each in found]
    columns = ("Slug", "Name", "Time zone", "Members", "Event types")
    return Answer({"teams": shown}, TableRows(columns, rows, "No teams yet."))


@command(app, "change")
async def change_team(
    work: Work,
    team: Slug,
    name: Annotated[str | None, typer.Option(help="The new name")] = None,
    slug: Annotated[str | None, typer.Option(help="The new address of its page")] = None,
    zone: Annotated[str | None, typer.Option(help="The new time zone")] = None,
) -> Answer:
    """Change the name, the slug or the time zone of a team."""
    found = await teams.get_team_by_slug(work, team)
    made = await teams.change_team(work, found, name=name, slug=slug, zone=zone)
    return Answer(_shape(made), f"{made.slug}: {made.name}, {made.zone}")


@command(app, "delete", confirm="Delete the team {team}? Upcoming bookings of its event types are cancelled.")
async def delete_team(work: Work, team: Slug) -> Answer:
    """Delete a team: upcoming bookings are cancelled, and its event types are archived."""
    found = await teams.get_team_by_slug(work, team)
    cancelled = await team_leavers.delete_team(work, found)
    return Answer({"deleted": team, "cancelledBookings": len(cancelled)}, f"{team} was deleted.")


@command(member_app, "add")
async def add_member(
    work: Work,
    team: Slug,
    email: Email,
    *,
    weight: Weight = 100,
    priority: Priority = 2,
    manager: Manager = None,
    attribute: AttributeWords = None,
) -> Answer:
    """Add a member of the organization to a team."""
    found = await teams.get_team_by_slug(work, team)
    user = await get_user_by_email(work, email)
    await teams.add_team_member(
        work,
        found,
        user.id,
        weight=100 if weight is None else weight,
        priority=2 if priority is None else priority,
        is_manager=bool(manager),
        attributes=_read_attributes(attribute or [], {}),
    )
    return _answer_member(await _get_member(work, found, email))


@command(member_app, "list")
async def list_members(work: Work, team: Slug) -> Answer:
    """List the members of a team by name."""
    found = await teams.list_team_members(work, await teams.get_team_by_slug(work, team))
    rows = [
        (each.email, each.name, each.member.weight, each.member.priority, each.member.is_manager, each.is_active)
        for each in found
    ]
    columns = ("Email", "Name", "Weight", "Priority", "Manager", "Can host")
    return Answer({"members": [_shape_member(each) for each in found]}, TableRows(columns, rows, "No members yet."))


@command(member_app, "change")
async def change_member(
    work: Work,
    team: Slug,
    email: Email,
    *,
    weight: Weight = None,
    priority: Priority = None,
    manager: Manager = None,
    attribute: AttributeWords = None,
) -> Answer:
    """Change a member's weight, priority and attributes, and whether they manage the team."""
    found = await teams.get_team_by_slug(work, team)
    member = (await _get_member(work, found, email)).member
    changed = replace(
        member,
        weight=member.weight if weight is None else weight,
        priority=member.priority if priority is None else priority,
        is_manager=member.is_manager if manager is None else manager,
        attributes=_read_attributes(attribute or [], member.attributes),
    )
    await teams.change_team_member(work, changed)
    return _answer_member(await _get_member(work, found, email))


@command(member_app, "remove")
async def remove_member(work: Work, team: Slug, email: Email) -> Answer:
    """Remove a member from a team: upcoming bookings go to others, or are cancelled."""
    found = await teams.get_team_by_slug(work, team)
    user = await get_user_by_email(work, email)
    await team_leavers.leave_team(work, found, user)
    return Answer({"removed": email}, f"{email} is no longer in {team}.")


@command(event_type_app, "create")
async def create_event_type(
    work: Work,
    team: Slug,
    *,
    name: Annotated[str, typer.Option(help="The name of the event type")],
    slug: Annotated[str, typer.Option(help="Short name for its address")],
    duration: Annotated[int, typer.Option(help="Minutes")],
    owner: Annotated[str, typer.Option(help="Email address of its owner, who need not host")],
    group: Groups,
    balance: Annotated[Balance, typer.Option(case_sensitive=False, help="What is shared fairly")] = Balance.SHARE,
    max_lead: Annotated[int | None, typer.Option(help="With the balance total: how far ahead a host may be")] = None,
) -> Answer:
    """Create an event type that members of a team host: of each group, a number of members is picked."""
    found = await teams.get_team_by_slug(work, team)
    user = await get_user_by_email(work, owner)
    schedule, *_ = await list_schedules(work, user)
    wanted = draft_event_type(work, schedule, name=name, slug=slug, duration_minutes=duration)
    rules = TeamRules(event_type_id=new_id(), balance=balance, max_lead=max_lead)
    groups = await _read_groups(work, found, group)
    made = await hosting.add_team_event_type(work, found, user, wanted, groups=groups, rules=rules)
    return Answer(_shape_event_type(made), f"{made.id} {found.slug}/{made.slug}")


@command(event_type_app, "list")
async def list_event_types(work: Work, team: Slug) -> Answer:
    """List the event types of a team with those who host them at this moment."""
    rows, shown = [], []
    for each in await hosting.list_team_event_types(work, await teams.get_team_by_slug(work, team)):
        rules = await hosting.get_rules(work, each.id)
        groups = await _shape_groups(work, each.id)
        shown.append({**_shape_event_type(each), "balance": rules.balance, "groups": groups})
        rows.append((each.id, each.slug, each.name, each.duration_minutes, rules.balance, _write_groups(groups)))
    columns = ("Id", "Slug", "Name", "Minutes", "Balance", "Hosts")
    return Answer({"eventTypes": shown}, TableRows(columns, rows, "No event types yet."))


@command(event_type_app, "hosts")
async def change_hosts(work: Work, team: Slug, event_type: EventTypeId, *, group: Groups) -> Answer:
    """Change of which groups an event type picks its hosts; groups keep their credits by their position."""
    found = await teams.get_team_by_slug(work, team)
    made = await hosting.get_team_event_type(work, found, event_type)
    await hosting.change_hosting(work, found, made.id, groups=await _read_groups(work, found, group))
    groups = await _shape_groups(work, made.id)
    return Answer({**_shape_event_type(made), "groups": groups}, f"{made.slug}: {_write_groups(groups)}")


@command(event_type_app, "change")
async def change_rules(
    work: Work,
    team: Slug,
    event_type: EventTypeId,
    *,
    balance: Annotated[Balance | None, typer.Option(case_sensitive=False, help="What is shared fairly")] = None,
    max_lead: Annotated[int | None, typer.Option(help="With the balance total; -1: no bound")] = None,
    window_days: Annotated[int | None, typer.Option(help="With the balance total: days that are counted")] = None,
    per_day: Bound = None,
    per_week: Bound = None,
    host_per_day: Bound = None,
    host_per_week: Bound = None,
    host_total_per_day: Bound = None,
    host_total_per_week: Bound = None,
    picks_anew: Annotated[bool | None, typer.Option(help="Others host a new time if the hosts are not free")] = None,
    replaces_leavers: Annotated[bool | None, typer.Option(help="Others take over from a host who leaves")] = None,
    counts_no_shows: Annotated[bool | None, typer.Option(help="No-shows count")] = None,
    counts_host_cancellations: Annotated[bool | None, typer.Option(help="What a host cancels counts")] = None,
) -> Answer:
    """Change the balance, the limits and the rules of an event type; what is not given stays as it is."""
    given = {name: value for name, value in locals().items() if value is not None}
    found = await teams.get_team_by_slug(work, team)
    made = await hosting.get_team_event_type(work, found, event_type)
    rules = _change(await hosting.get_rules(work, made.id), given)
    await hosting.change_hosting(work, found, made.id, rules=rules, limits=_change(made.limits, given))
    made = await hosting.get_team_event_type(work, found, event_type)
    shown = {**pick(rules, RULE_NAMES), **pick(made.limits, "per_day per_week")}
    return Answer({**_shape_event_type(made), **shown}, f"{made.slug}: {rules.balance}")


@command(event_type_app, "take-over")
async def take_over(
    work: Work,
    team: Slug,
    event_type: EventTypeId,
    *,
    owner: Annotated[str, typer.Option(help="Email address of the new owner, a member of the organization")],
) -> Answer:
    """Give an event type of a team another owner, with its upcoming bookings."""
    found = await teams.get_team_by_slug(work, team)
    made = await hosting.get_team_event_type(work, found, event_type)
    taken = await team_leavers.take_over(work, found, made, await get_user_by_email(work, owner))
    return Answer(_shape_event_type(taken), f"{taken.slug} belongs to {owner}.")


async def _get_member(work: Work, team: Team, email: str) -> ListedTeamMember:
    return require((await teams.find_team_members(work, team, [email])).get(email), TeamMemberNotFound)


async def _read_groups(work: Work, team: Team, texts: Sequence[str]) -> list[GroupWanted]:
    hosts = (host for text in texts for word in text.split() for host in word.partition("=")[2].split(","))
    found = await teams.find_team_members(work, team, {host.partition(":")[0] for host in hosts})
    known = {email: each.member.user_id for email, each in found.items()}
    return [_read_group(text, known, index) for index, text in enumerate(texts)]


def _read_group(text: str, known: dict[str, UUID], index: int) -> GroupWanted:
    words = dict(_split(word) for word in text.split())
    pick_, of = words.pop("pick", "1"), words.pop("of", "")
    if not pick_.isdecimal():
        raise Invalid(details={f"groups.{index}.pick": "must be a number"})
    filter_ = {name: tuple(values.split(",")) for name, values in words.items()}
    if filter_ or of == EVERYBODY:
        if of not in {"", EVERYBODY}:
            raise Invalid(details={f"groups.{index}.of": "can't be combined with a filter"})
        return GroupWanted(pick=int(pick_), filter=filter_)
    hosts = []
    for host in filter(None, of.split(",")):
        email, *numbers = host.split(":")
        if email not in known:
            raise Invalid(details={f"groups.{index}.of": f"{email} is not a member of the team"})
        if len(numbers) > 2 or not all(number.isdecimal() for number in numbers if number):
            raise Invalid(
                details={f"groups.{index}.of": f"{host} must be EMAIL, EMAIL:WEIGHT or EMAIL:WEIGHT:PRIORITY"}
            )
        weight, priority = (int(number) if number else None for number in (*numbers, "", "")[:2])
        hosts.append(HostWanted(user_id=known[email], weight=weight, priority=priority))
    return GroupWanted(pick=int(pick_), hosts=tuple(hosts))


def _change(current: R, given: Mapping[str, object]) -> R:
    """Change what is given; a limit of 0 and a lead of -1 are none."""
    names = {field.name for field in fields(current)} & given.keys()
    none = {name for name in names if name.endswith(("_day", "_week")) and given[name] == 0}
    none |= {name for name in names if name == "max_lead" and given[name] == -1}
    return replace(current, **{name: None if name in none else given[name] for name in names})


def _read_attributes(words: Sequence[str], before: Attributes) -> Attributes:
    changed = before | dict(_split(word) for word in words)
    return {name: value for name, value in changed.items() if value}


def _split(word: str) -> tuple[str, str]:
    name, sign, value = word.partition("=")
    if not sign:
        raise Invalid(f"Write {word} as NAME=VALUE")
    return name, value


def _shape(team: Team) -> dict[str, object]:
    return pick(team, "id name slug created_at", timezone=team.zone)


def _shape_member(found: ListedTeamMember) -> dict[str, object]:
    own = pick(found.member, "weight priority joined_at", manager=found.member.is_manager)
    return {**pick(found, "email name attributes", can_host=found.is_active), **own}


def _answer_member(found: ListedTeamMember) -> Answer:
    text = f"{found.email}: weight {found.member.weight}, priority {found.member.priority}"
    return Answer(_shape_member(found), text)


def _shape_event_type(event_type: EventType) -> dict[str, object]:
    return pick(event_type, "id name slug duration_minutes active owner_id team_id")


async def _shape_groups(work: Work, event_type_id: UUID) -> list[dict[str, object]]:
    members = await hosting.list_group_members(work, event_type_id)
    return [
        {
            "pick": each.pick,
            "filter": each.filter,
            "of": [pick(one, "email weight priority") for one in members if one.group_id == each.id],
        }
        for each in await hosting.list_groups(work, event_type_id)
    ]


def _write_groups(groups: list[dict[str, object]]) -> str:
    return "; ".join(
        f"{each['pick']} of {', '.join(str(one['email']) for one in each['of'])}"  # type: ignore[attr-defined]
        for each in groups
    )
