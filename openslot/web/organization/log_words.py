"""The change log in words: what was done, which field, and what it was."""

from datetime import datetime

from openslot.accounts.models import User
from openslot.change_log.models import ChangeAction, Fields, LoggedChange
from openslot.i18n import Text
from openslot.web import words
from openslot.web.organization.role_names import ROLES

ACTIONS: dict[str, Text] = {
    ChangeAction.ORGANIZATION_CREATED: Text("Organization created"),
    ChangeAction.ORGANIZATION_CHANGED: Text("Name changed"),
    ChangeAction.BRAND_CHANGED: Text("Appearance of emails changed"),
    ChangeAction.LEAVING_CHANGED: Text("Settings for departures changed"),
    ChangeAction.MEMBER_INVITED: Text("Member invited"),
    ChangeAction.MEMBER_ADDED: Text("Member added"),
    ChangeAction.INVITATION_RESENT: Text("Invitation sent again"),
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
    ChangeAction.EFFECTS_RETRIED: Text("Failed steps retried"),
    ChangeAction.BACKUP_CREATED: Text("Backup created"),
    ChangeAction.BACKUP_DOWNLOADED: Text("Backup downloaded"),
}
FIELDS: dict[str, Text] = {
    "name": Text("Name"),
    "slug": Text("Short name"),
    "plan": Text("Plan"),
    "colour": Text("Colour"),
    "logo": Text("Logo"),
    "role": Text("Role"),
    "active": Text("Active"),
    "ends_in": Text("Last four characters"),
    "expires_at": Text("Expires"),
    "verified": Text("Verified"),
    "keeps_bookings": Text("Keep bookings"),
    "departure_share": Text("Maximum percentage of members"),
    "members": Text("Members"),
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
    **{("role", role): name for role, name in ROLES.items()},
    **{("plan", plan): name for plan, name in words.PLANS.items()},
}
EMPTY = "\u2013"


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
