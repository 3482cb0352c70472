"""Decisions about teams: the bounds of every field, and of whom an event type picks its hosts."""

import re
from collections.abc import Collection, Iterator, Sequence
from uuid import UUID

from openslot.domains.accounts.rules import find_name_fault
from openslot.domains.teams.models import AttributeFilter, Attributes, Balance, GroupWanted, TeamRules
from openslot.platform.core.errors import Invalid
from openslot.platform.core.text import fold_ascii, is_line
from openslot.platform.core.times import NOT_A_ZONE, find_zone
from openslot.platform.i18n import Text

SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,58}[a-z0-9])?")
KEY = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,49}", re.ASCII)
# Words that stand in the place of a team in our own addresses.
RESERVED = frozenset({"new", "teams", "members", "settings"})
MAX_WEIGHT, MAX_PRIORITY = 1000, 3
MAX_GROUPS = 20
MAX_HOSTS = 500
MAX_ATTRIBUTES = 50
MAX_VALUES = 100

Faults = Iterator[tuple[str, str]]


def check_team(*, name: str, slug: str, zone: str) -> tuple[str, str, str]:
    """Normalise the name, the slug and the time zone of a team, or refuse them with every fault."""
    name, slug = name.strip(), fold_ascii(slug.strip())
    faults: dict[str, str] = {}
    if fault := find_name_fault(name):
        faults["name"] = fault
    if not SLUG.fullmatch(slug):
        faults["slug"] = Text("must be 1 to 60 lower-case letters, digits and hyphens")
    elif slug in RESERVED:
        faults["slug"] = Text("is reserved")
    found = find_zone(zone)
    if found is None:
        faults["timezone"] = NOT_A_ZONE
    if faults:
        raise Invalid(details=faults)
    return name, slug, str(found)


def check_member(*, weight: int, priority: int, attributes: Attributes) -> None:
    faults = {
        **dict(_bounds("weight", weight, 0, MAX_WEIGHT)),
        **dict(_bounds("priority", priority, 0, MAX_PRIORITY)),
        **dict(_attribute_faults(attributes)),
    }
    if faults:
        raise Invalid(details=faults)


def find_group_faults(groups: Sequence[GroupWanted], *, members: Collection[UUID]) -> dict[str, str]:
    """Find why hosts can't be picked from groups: who is listed must be a member of the team."""
    faults: dict[str, str] = {}
    if not 1 <= len(groups) <= MAX_GROUPS:
        faults["groups"] = Text("must have 1 to %(max)s entries", max=MAX_GROUPS)
    for index, group in enumerate(groups):
        faults |= dict(_group_faults(f"groups.{index}", group, members))
    return faults


def find_rules_faults(rules: TeamRules) -> dict[str, str]:
    faults: dict[str, str] = {
        **dict(_bounds("windowDays", rules.window_days, 1, 730)),
        **dict(_bounds("maxLead", rules.max_lead, 0, 1000)),
        **dict(_bounds("hostPerDay", rules.host_per_day, 1, 1000)),
        **dict(_bounds("hostPerWeek", rules.host_per_week, 1, 1000)),
        **dict(_bounds("hostTotalPerDay", rules.host_total_per_day, 1, 1000)),
        **dict(_bounds("hostTotalPerWeek", rules.host_total_per_week, 1, 1000)),
    }
    if rules.max_lead is not None and rules.balance is not Balance.TOTAL:
        faults["maxLead"] = Text("needs the balance total")
    return faults


def _group_faults(path: str, group: GroupWanted, members: Collection[UUID]) -> Faults:
    if group.filter is not None:
        if group.hosts:
            yield f"{path}.of", Text("can't be combined with a filter")
        yield from _filter_faults(f"{path}.filter", group.filter)
        yield from _bounds(f"{path}.pick", group.pick, 1, MAX_HOSTS)
        return
    ids = [host.user_id for host in group.hosts]
    if not 1 <= len(ids) <= MAX_HOSTS:
        yield f"{path}.of", Text("must have 1 to %(max)s entries", max=MAX_HOSTS)
        return
    if len(set(ids)) < len(ids):
        yield f"{path}.of", Text("must not name the same member twice")
    for index, host in enumerate(group.hosts):
        if host.user_id not in members:
            yield f"{path}.of.{index}", Text("is not a member of the team")
        if host.weight is not None:
            yield from _bounds(f"{path}.of.{index}.weight", host.weight, 0, MAX_WEIGHT)
        if host.priority is not None:
            yield from _bounds(f"{path}.of.{index}.priority", host.priority, 0, MAX_PRIORITY)
    yield from _bounds(f"{path}.pick", group.pick, 1, len(set(ids)))


def _filter_faults(path: str, filter_: AttributeFilter) -> Faults:
    if len(filter_) > MAX_ATTRIBUTES:
        yield path, Text("must have at most %(max)s entries", max=MAX_ATTRIBUTES)
    for key, values in filter_.items():
        if not KEY.fullmatch(key):
            yield path, Text("must have names of attributes, which are a letter and then letters and digits")
        elif not 1 <= len(values) <= MAX_VALUES or not all(map(_is_value, values)):
            yield f"{path}.{key}", Text("must have 1 to %(max)s values of 1 to 200 characters", max=MAX_VALUES)


def _attribute_faults(attributes: Attributes) -> Faults:
    if len(attributes) > MAX_ATTRIBUTES:
        yield "attributes", Text("must have at most %(max)s entries", max=MAX_ATTRIBUTES)
    for key, value in attributes.items():
        if not KEY.fullmatch(key):
            yield "attributes", Text("must have names of attributes, which are a letter and then letters and digits")
        elif not _is_value(value):
            yield f"attributes.{key}", Text("must be 1 to 200 characters on one line")


def _is_value(value: str) -> bool:
    return bool(value.strip()) and len(value) <= 200 and is_line(value)


def _bounds(field: str, number: int | None, least: int, max_: int) -> Faults:
    if number is not None and not least <= number <= max_:
        yield field, Text("must be from %(least)s to %(max)s", least=least, max=max_)
