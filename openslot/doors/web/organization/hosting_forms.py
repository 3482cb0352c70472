"""The form in which a team's event type gets its hosts: groups, who is in each, balance, limits and rules."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, Struct

from openslot.domains.change_log.models import Fields
from openslot.domains.event_types.models import Limits
from openslot.domains.teams.models import (
    AttributeFilter,
    Balance,
    GroupWanted,
    HostWanted,
    ListedTeamMember,
    Team,
    TeamRules,
)
from openslot.domains.teams.operations import find_team_members
from openslot.doors.http.forms import Fields as SentFields
from openslot.doors.web.shared.hosting import LABELS
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import WhenEmpty

# As many boxes to check are on one page; with more, hosts are typed.
MAX_ROWS = 60
LIMITS = tuple(name for name in LABELS if name.endswith(("day", "week")))
# What each rule means if it holds, and if not.
RULES = {
    "picks_anew": (
        Text("Others of the same group who are free host it instead."),
        Text("The new time is refused. The booking keeps its hosts."),
    ),
    "replaces_leavers": (
        Text("Others who are free take over their upcoming bookings. Where nobody is free, the booking is cancelled."),
        Text("Their upcoming bookings are cancelled."),
    ),
    "counts_host_cancellations": (
        Text("It still counts as one of the bookings that the hosts had."),
        Text("It does not count. The hosts are next in turn again."),
    ),
    "counts_no_shows": (
        Text("It still counts as one of the bookings that the hosts had."),
        Text("It does not count. The hosts are next in turn again."),
    ),
}
NO_NUMBER = Text("Enter a number of hosts")
NOT_LINES = Text(
    "must have an email address in each line, and after commas a weight from 0 to 1000 and a priority from 0 to 3"
)
# How the verb names what the form calls otherwise.
NAMES = {
    "maxLead": "max_lead",
    "windowDays": "window_days",
    "limits.perDay": "per_day",
    "limits.perWeek": "per_week",
    "hostPerDay": "host_per_day",
    "hostPerWeek": "host_per_week",
    "hostTotalPerDay": "host_total_per_day",
    "hostTotalPerWeek": "host_total_per_week",
}


class HostRow(Struct, frozen=True, kw_only=True):
    host: UUID | None = None
    """None if not checked."""
    weight: Annotated[int, Meta(ge=0, le=1000)] | None = None
    priority: Annotated[int, Meta(ge=0, le=3)] | None = None


class GroupForm(Struct, frozen=True, kw_only=True):
    id: UUID | None = None
    """None if the group is new; it is left out if it is empty."""
    pick: int | None = None
    who: Literal["all", "attributes", "listed"] = "all"
    attributes: Annotated[str, Meta(max_length=15_000)] = ""
    rows: list[HostRow] = []
    hosts: Annotated[str, Meta(max_length=50_000)] = ""
    """The same as the rows, typed, where there are too many of them."""
    remove: bool = False

    @property
    def is_wanted(self) -> bool:
        is_empty = self.id is None and self.pick is None and not self.hosts and not any(row.host for row in self.rows)
        return not self.remove and not is_empty


class HostingForm(Struct, frozen=True, kw_only=True):
    groups: list[GroupForm] = []
    balance: Balance = Balance.SHARE
    max_lead: int | None = None
    window_days: Annotated[int, WhenEmpty(Text("Enter a number of days"))]
    per_day: int | None = None
    per_week: int | None = None
    host_per_day: int | None = None
    host_per_week: int | None = None
    host_total_per_day: int | None = None
    host_total_per_week: int | None = None
    picks_anew: bool
    replaces_leavers: bool
    counts_host_cancellations: bool
    counts_no_shows: bool

    def read_rules(self, event_type_id: UUID) -> TeamRules:
        names = (*(name for name in LABELS if name not in {"per_day", "per_week"}), "balance")
        return TeamRules(event_type_id=event_type_id, **{name: getattr(self, name) for name in names})

    def read_limits(self, before: Limits) -> Limits:
        return Limits(per_day=self.per_day, per_week=self.per_week, per_invitee=before.per_invitee)


class ReadGroups(Struct, frozen=True, kw_only=True):
    """The groups that a form asks for, and where in it each of them and each of their hosts stands."""

    wanted: list[GroupWanted]
    places: list[str]
    hosts: list[list[str]]

    def place(self, faults: Mapping[str, str]) -> dict[str, str]:
        """Return faults that the verb has found at the fields of the form."""
        return {self._place(name): fault for name, fault in faults.items()}

    def _place(self, name: str) -> str:
        kind, *path = name.split(".")
        if kind != "groups" or not path:
            return NAMES.get(name, name)
        number, part, *inner = int(path[0]), *path[1:]
        if part == "of" and inner and (row := self.hosts[number][int(inner[0])]):
            return ".".join([row, inner[1] if len(inner) > 1 else "host"])
        named = {"of": "hosts", "filter": "attributes"}
        return f"{self.places[number]}.{named.get(part, part)}"


async def read_groups(work: Work, team: Team, form: HostingForm) -> ReadGroups:
    """Read the groups that are wanted, or refuse them with every fault of what was typed."""
    read = ReadGroups(wanted=[], places=[], hosts=[])
    faults: dict[str, str] = {}
    for number, group in enumerate(form.groups):
        if not group.is_wanted:
            continue
        place, hosts, filter_ = f"groups.{number}", list[tuple[HostWanted, str]](), None
        try:
            if group.who == "listed":
                typed = await read_hosts(work, team, group.hosts)
                hosts = [*_read_rows(group.rows, place), *((host, "") for host in typed)]
            else:
                filter_ = _read_filter(group.attributes) if group.who == "attributes" else {}
        except Invalid as fault:
            faults |= {f"{place}.{name}": text for name, text in (fault.details or {}).items()}
        if group.pick is None:
            faults[f"{place}.pick"] = NO_NUMBER
        listed = tuple(host for host, _ in hosts)
        read.wanted.append(GroupWanted(id=group.id, pick=group.pick or 1, hosts=listed, filter=filter_))
        read.places.append(place)
        read.hosts.append([row for _, row in hosts])
    if faults:
        raise Invalid(details=faults)
    return read


def _read_rows(rows: Sequence[HostRow], place: str) -> Iterator[tuple[HostWanted, str]]:
    for number, row in enumerate(rows):
        if row.host is not None:
            yield (
                HostWanted(user_id=row.host, weight=row.weight, priority=row.priority),
                f"{place}.rows.{number}",
            )


async def read_hosts(work: Work, team: Team, text: str) -> list[HostWanted]:
    """Read hosts from lines, each with an address and, after commas, a weight and a priority of their own."""
    lines = [[part.strip() for part in line.split(",")] for line in filter(str.strip, text.splitlines())]
    known = await find_team_members(work, team, [email for email, *_ in lines])
    found = []
    for email, *numbers in lines:
        if len(numbers) > 2 or not all(re.fullmatch(r"\d{0,4}", each, re.ASCII) for each in numbers):
            raise Invalid(details={"hosts": NOT_LINES})
        weight, priority = (int(each) if each else None for each in (*numbers, "", "")[:2])
        if (weight or 0) > 1000 or (priority or 0) > 3:
            raise Invalid(details={"hosts": NOT_LINES})
        if email not in known:
            fault = Text("names %(email)s, who is not a member of the team", email=email[:200])
            raise Invalid(details={"hosts": fault})
        found.append(HostWanted(user_id=known[email].member.user_id, weight=weight, priority=priority))
    return found


def _read_filter(text: str) -> AttributeFilter:
    found: AttributeFilter = {}
    for line in filter(str.strip, text.splitlines()):
        name, sign, values = line.partition(":")
        if not sign or not values.strip():
            raise Invalid(
                details={"attributes": Text("must have a name, a colon and values separated by commas in each line")}
            )
        found[name.strip()] = tuple(filter(None, (value.strip() for value in values.split(","))))
    if not found:
        raise Invalid(details={"attributes": Text("must have at least one attribute, such as language: de, fr")})
    return found


def write_form(
    groups: Sequence[GroupWanted], rules: TeamRules, limits: Limits, members: Sequence[ListedTeamMember]
) -> dict[str, str]:
    """Write what is stored as the fields of the form; the last group is an empty one, to be filled in."""
    shown = {"balance": rules.balance.value, "per_day": limits.per_day, "per_week": limits.per_week}
    for name in LABELS:
        value = shown[name] if name in shown else getattr(rules, name)
        shown[name] = {True: "on", False: "off"}[value] if isinstance(value, bool) else value
    values = {name: "" if value is None else str(value) for name, value in shown.items()}
    emails = {each.member.user_id: each.email for each in members}
    has_rows = has_room(len(members), len(groups) + 1)
    for number, group in enumerate(groups):
        place = f"groups.{number}"
        who = "listed" if group.filter is None else "attributes" if group.filter else "all"
        values |= {f"{place}.id": str(group.id or ""), f"{place}.pick": str(group.pick), f"{place}.who": who}
        values[f"{place}.attributes"] = "\n".join(
            f"{name}: {', '.join(found)}" for name, found in sorted((group.filter or {}).items())
        )
        listed = {host.user_id: host for host in group.hosts}
        if not has_rows:
            values[f"{place}.hosts"] = "\n".join(_write_host(host, emails) for host in group.hosts)
            continue
        for row, each in enumerate(members):
            host = listed.get(each.member.user_id)
            if host is not None:
                values |= {
                    f"{place}.rows.{row}.host": str(host.user_id),
                    f"{place}.rows.{row}.weight": "" if host.weight is None else str(host.weight),
                    f"{place}.rows.{row}.priority": "" if host.priority is None else str(host.priority),
                }
    return values | {f"groups.{len(groups)}.who": "all"}


def has_room(members: int, groups: int) -> bool:
    """Whether every member can have a box in every group."""
    return members * groups <= MAX_ROWS


def count_groups(values: Mapping[str, str] | SentFields) -> int:
    """Count the groups that a form shows."""
    return len({name.split(".")[1] for name in values if name.startswith("groups.")})


def _write_host(host: HostWanted, emails: Mapping[UUID, str]) -> str:
    numbers = ["" if each is None else str(each) for each in (host.weight, host.priority)]
    return ", ".join([emails.get(host.user_id, str(host.user_id)), *numbers]).rstrip(", ")


def write_fields(
    groups: Sequence[GroupWanted], rules: TeamRules, limits: Limits, members: Sequence[ListedTeamMember]
) -> Fields:
    """Write how an event type gets its hosts for the change log."""
    emails = {each.member.user_id: each.email for each in members}
    own = {"per_day": limits.per_day, "per_week": limits.per_week}
    return {
        "groups": "; ".join(_write_group(group, emails) for group in groups),
        "balance": rules.balance.value,
        **{name: own[name] if name in own else getattr(rules, name) for name in LABELS},
    }


def _write_group(group: GroupWanted, emails: Mapping[UUID, str]) -> str:
    if group.filter is None:
        return f"{group.pick} / {', '.join(emails.get(host.user_id, '?') for host in group.hosts)}"
    filtered = ", ".join(f"{name}: {', '.join(values)}" for name, values in sorted(group.filter.items()))
    return f"{group.pick} / {filtered or '*'}"
