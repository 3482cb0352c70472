"""Who changed what: lists of an organization and of the platform."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from openslot.domains.accounts.models import User
from openslot.domains.change_log.models import ChangeAction, ChangeFilter, Fields, LoggedChange
from openslot.doors.web.shared import words
from openslot.doors.web.shared.downloads import write_csv
from openslot.doors.web.shared.hosting import LABELS
from openslot.doors.web.shared.list_queries import ListQuery
from openslot.doors.web.shared.organization import ROLE_WORDS
from openslot.platform.core.times import get_zone
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import Locale
from openslot.platform.i18n.localization import localize

ACTIONS: dict[str, Text] = {
    ChangeAction.ORGANIZATION_CREATED: Text("Organization created"),
    ChangeAction.ORGANIZATION_CHANGED: Text("Name changed"),
    ChangeAction.BRAND_CHANGED: Text("Appearance of emails changed"),
    ChangeAction.LEAVING_CHANGED: Text("Settings for departures changed"),
    ChangeAction.ASSISTANTS_CHANGED: Text("Policy for assistants changed"),
    ChangeAction.MEMBER_INVITED: Text("Member invited"),
    ChangeAction.MEMBER_ADDED: Text("Member added"),
    ChangeAction.INVITATION_RESENT: Text("Invited again"),
    ChangeAction.INVITATION_WITHDRAWN: Text("Invitation withdrawn"),
    ChangeAction.ROLE_CHANGED: Text("Role changed"),
    ChangeAction.MEMBER_SUSPENDED: Text("Member suspended"),
    ChangeAction.MEMBER_REINSTATED: Text("Member reinstated"),
    ChangeAction.MEMBER_REMOVED: Text("Member removed"),
    ChangeAction.TOKEN_CREATED: Text("SCIM token created"),
    ChangeAction.TOKEN_REVOKED: Text("SCIM token revoked"),
    ChangeAction.DEPARTURE_APPROVED: Text("Departure approved"),
    ChangeAction.DEPARTURE_REJECTED: Text("Departure rejected"),
    ChangeAction.DOMAIN_ADDED: Text("Domain added"),
    ChangeAction.DOMAIN_VERIFIED: Text("Domain verified"),
    ChangeAction.DOMAIN_REMOVED: Text("Domain removed"),
    ChangeAction.TEAM_CREATED: Text("Team created"),
    ChangeAction.TEAM_CHANGED: Text("Team changed"),
    ChangeAction.TEAM_DELETED: Text("Team deleted"),
    ChangeAction.TEAM_MEMBER_ADDED: Text("Member added to a team"),
    ChangeAction.TEAM_MEMBER_CHANGED: Text("Member of a team changed"),
    ChangeAction.TEAM_MEMBER_REMOVED: Text("Member removed from a team"),
    ChangeAction.TEAM_EVENT_TYPE_CREATED: Text("Event type of a team created"),
    ChangeAction.TEAM_EVENT_TYPE_CHANGED: Text("Hosts of an event type changed"),
    ChangeAction.PAYMENTS_CONNECTED: Text("Payments connected"),
    ChangeAction.PAYMENTS_DISCONNECTED: Text("Payments disconnected"),
    ChangeAction.NUMBER_CONNECTED: Text("Number connected"),
    ChangeAction.NUMBER_CHANGED: Text("Settings of a number changed"),
    ChangeAction.NUMBER_DISCONNECTED: Text("Number disconnected"),
}
PLATFORM_ACTIONS: dict[str, Text] = {
    ChangeAction.PLAN_CHANGED: Text("Plan of a user changed"),
    ChangeAction.USER_DISABLED: Text("User disabled"),
    ChangeAction.USER_ENABLED: Text("User enabled"),
    ChangeAction.USER_SIGNED_OUT: Text("User signed out everywhere"),
    ChangeAction.ADMINISTRATOR_CHANGED: Text("Administrator changed"),
    ChangeAction.ORGANIZATION_PLAN_CHANGED: Text("Plan of an organization changed"),
    ChangeAction.ORGANIZATION_DELETED: Text("Organization deleted"),
    ChangeAction.AGENT_LEVEL_CHANGED: Text("Level of an agent changed"),
    ChangeAction.AGENT_SCOPES_CHANGED: Text("Scopes of an agent changed"),
    ChangeAction.AGENT_KEY_CREATED: Text("Agent key created"),
    ChangeAction.AGENT_KEY_ROTATED: Text("Agent key rotated"),
    ChangeAction.AGENT_KEY_DEACTIVATED: Text("Agent key deactivated"),
    ChangeAction.CALL_APPROVED: Text("Call of an agent approved"),
    ChangeAction.CALL_REJECTED: Text("Call of an agent rejected"),
    ChangeAction.FLAG_SWITCHED: Text("Feature switched"),
    ChangeAction.FLAG_SET_FOR_USER: Text("Feature set for a user"),
    ChangeAction.FLAG_RESET_FOR_USER: Text("Feature reset for a user"),
    ChangeAction.MESSAGING_STOPPED: Text("Outgoing messages stopped"),
    ChangeAction.MESSAGING_RESUMED: Text("Outgoing messages resumed"),
    ChangeAction.EFFECTS_RETRIED: Text("Failed steps retried"),
    ChangeAction.BACKUP_CREATED: Text("Backup created"),
    ChangeAction.BACKUP_DOWNLOADED: Text("Backup downloaded"),
}
FIELDS: dict[str, Text] = {
    "name": Text("Name"),
    "slug": Text("Short name"),
    "plan": Text("Plan"),
    "color": Text("Color"),
    "logo": Text("Logo"),
    "role": Text("Role"),
    "active": Text("Active"),
    "ends_in": Text("Last four characters"),
    "expires_at": Text("Expires"),
    "verified": Text("Verified"),
    "mode": Text("Mode"),
    "channel": Text("Channel"),
    "default_host": Text("Default host"),
    "can_cancel": Text("Let people cancel by replying C"),
    "template": Text("Template for reminders"),
    "keeps_bookings": Text("Keep bookings"),
    "departure_share": Text("Maximum percentage of members"),
    "assistants": Text("Assistants"),
    "members": Text("Members"),
    "team": Text("Team"),
    "timezone": Text("Time zone"),
    "weight": Text("Weight"),
    "priority": Text("Priority"),
    "manager": Text("Manager"),
    "attributes": Text("Attributes"),
    "groups": Text("Hosts"),
    "balance": Text("Balance"),
    **LABELS,
    "domains": Text("Domains"),
    "cancelled_bookings": Text("Cancelled bookings"),
    "administrator": Text("Administrator"),
    "level": Text("Level"),
    "scopes": Text("Scopes"),
    "reason": Text("Reason"),
    "tool": Text("Tool"),
    "enabled": Text("On"),
    "user": Text("User"),
    "tried": Text("Retried"),
}
NAMED: dict[tuple[str, str], Text] = {
    **{("role", role): name for role, name in ROLE_WORDS.items()},
    **{("plan", plan): name for plan, name in words.PLANS.items()},
}
EMPTY = "\u2013"
COLUMNS = (
    Text("Time"),
    Text("Time zone"),
    Text("Who"),
    Text("Email address"),
    Text("Address"),
    Text("Change"),
    Text("Affected"),
    Text("Before"),
    Text("After"),
)


def name_action(change: LoggedChange) -> str:
    """Say what was done; an action of a newer version is shown as it is."""
    return {**ACTIONS, **PLATFORM_ACTIONS}.get(change.action, change.action)


def list_fields(change: LoggedChange, user: User) -> list[tuple[str, object, object]]:
    """List each changed field with what it was and what it is; None where it did not exist."""
    names = dict.fromkeys((*change.before, *change.after))
    return [
        (FIELDS.get(name, name), _value(change.before, name, user), _value(change.after, name, user)) for name in names
    ]


def _value(fields: Fields, name: str, user: User) -> object:
    if name not in fields:
        return None
    value = fields[name]
    if value is None or value == "":
        return EMPTY
    if isinstance(value, bool):
        return Text("Yes") if value else Text("No")
    if name == "expires_at":
        return words.day(datetime.fromisoformat(str(value)), user.zone)
    return NAMED.get((name, str(value)), str(value))


def read_change_filter(query: ListQuery) -> ChangeFilter:
    return ChangeFilter(action=query["action"], search=query["q"], span=query.span)


def write_log(changes: list[LoggedChange], user: User, locale: Locale) -> bytes:
    columns = (str(localize(column, locale)) for column in COLUMNS)
    return write_csv(columns, (_cells(each, user, locale) for each in changes))


def _cells(change: LoggedChange, user: User, locale: Locale) -> Iterator[str]:
    fields = list_fields(change, user)
    yield f"{change.at.astimezone(get_zone(user.zone)):%Y-%m-%d %H:%M:%S}"
    yield user.zone
    yield change.actor_name
    yield change.actor_email or ""
    yield change.address or ""
    yield str(localize(name_action(change), locale))
    yield change.subject
    yield _join(((name, before) for name, before, _ in fields), locale)
    yield _join(((name, after) for name, _, after in fields), locale)


def _join(fields: Any, locale: Locale) -> str:
    said = [(localize(name, locale), localize(value, locale)) for name, value in fields if value is not None]
    return "; ".join(f"{name}: {value}" for name, value in said)


def describe_changes(changes: Iterable[LoggedChange], user: User) -> list[tuple[LoggedChange, str, object]]:
    return [(each, name_action(each), list_fields(each, user)) for each in changes]
