"""The nouns: actions, changes as they are written, and changes as they are read."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from msgspec import Struct

from openslot.platform.core.moments import Span

Fields = Mapping[str, object]


class ChangeScope(StrEnum):
    ORGANIZATION = "organization"
    PLATFORM = "platform"


class ChangeAction(StrEnum):
    """What can be changed; a new action needs its words in `doors/web/organization/log.py`."""

    ORGANIZATION_CREATED = "organization.created"
    ORGANIZATION_CHANGED = "organization.changed"
    BRAND_CHANGED = "organization.brand_changed"
    LEAVING_CHANGED = "organization.leaving_changed"
    ASSISTANTS_CHANGED = "organization.assistants_changed"
    MEMBER_INVITED = "member.invited"
    MEMBER_ADDED = "member.added"
    INVITATION_RESENT = "invitation.resent"
    INVITATION_WITHDRAWN = "invitation.withdrawn"
    ROLE_CHANGED = "member.role_changed"
    MEMBER_SUSPENDED = "member.suspended"
    MEMBER_REINSTATED = "member.reinstated"
    MEMBER_REMOVED = "member.removed"
    TOKEN_CREATED = "scim_token.created"  # noqa: S105 - an action, not a token
    TOKEN_REVOKED = "scim_token.revoked"  # noqa: S105 - an action, not a token
    DEPARTURE_APPROVED = "departure.approved"
    DEPARTURE_REJECTED = "departure.rejected"
    DOMAIN_ADDED = "domain.added"
    DOMAIN_VERIFIED = "domain.verified"
    DOMAIN_REMOVED = "domain.removed"
    TEAM_CREATED = "team.created"
    TEAM_CHANGED = "team.changed"
    TEAM_DELETED = "team.deleted"
    TEAM_MEMBER_ADDED = "team_member.added"
    TEAM_MEMBER_CHANGED = "team_member.changed"
    TEAM_MEMBER_REMOVED = "team_member.removed"
    TEAM_EVENT_TYPE_CREATED = "team_event_type.created"
    TEAM_EVENT_TYPE_CHANGED = "team_event_type.changed"
    PAYMENTS_CONNECTED = "payments.connected"
    PAYMENTS_DISCONNECTED = "payments.disconnected"
    NUMBER_CONNECTED = "number.connected"
    NUMBER_CHANGED = "number.changed"
    NUMBER_DISCONNECTED = "number.disconnected"
    PLAN_CHANGED = "user.plan_changed"
    USER_DISABLED = "user.disabled"
    USER_ENABLED = "user.enabled"
    USER_SIGNED_OUT = "user.signed_out"
    ADMINISTRATOR_CHANGED = "user.administrator_changed"
    ORGANIZATION_PLAN_CHANGED = "organization.plan_changed"
    ORGANIZATION_DELETED = "organization.deleted"
    AGENT_LEVEL_CHANGED = "agent.level_changed"
    AGENT_SCOPES_CHANGED = "agent.scopes_changed"
    AGENT_KEY_CREATED = "agent_key.created"
    AGENT_KEY_ROTATED = "agent_key.rotated"
    AGENT_KEY_DEACTIVATED = "agent_key.deactivated"
    CALL_APPROVED = "agent_call.approved"
    CALL_REJECTED = "agent_call.rejected"
    FLAG_SWITCHED = "flag.switched"
    FLAG_SET_FOR_USER = "flag.set_for_user"
    FLAG_RESET_FOR_USER = "flag.reset_for_user"
    MESSAGING_STOPPED = "messaging.stopped"
    MESSAGING_RESUMED = "messaging.resumed"
    EFFECTS_RETRIED = "effects.retried"
    BACKUP_CREATED = "backup.created"
    BACKUP_DOWNLOADED = "backup.downloaded"


class ChangeAuthor(Struct, frozen=True, kw_only=True):
    """Who changes something, by name as it is now, and from which address."""

    name: str
    email: str | None = None
    address: str | None = None


class NewChange(Struct, frozen=True, kw_only=True):
    """A change to be logged; secrets must not be among its fields."""

    action: ChangeAction
    author: ChangeAuthor
    subject: str
    """The name, as it is now, of the thing that was changed."""
    subject_id: UUID | None = None
    organization_id: UUID | None = None
    """The organization whose log it is written to; None if it is the platform's log."""
    before: Fields = {}
    after: Fields = {}


class LoggedChange(Struct, frozen=True, kw_only=True):
    id: int
    at: datetime
    action: str
    actor_kind: str
    actor_id: UUID | None
    actor_name: str
    actor_email: str | None
    address: str | None
    subject: str
    subject_id: UUID | None
    before: dict[str, Any]
    after: dict[str, Any]


class ChangeFilter(Struct, frozen=True, kw_only=True):
    """Which lines of a log are wanted."""

    action: str = ""
    search: str = ""
    """Part of who did it or of what was changed."""
    span: Span = Span()


def keep_changed(before: Fields, after: Fields) -> tuple[Fields, Fields]:
    """Leave out fields that are the same before and after."""
    same = {name for name in before.keys() & after.keys() if before[name] == after[name]}
    return (
        {name: value for name, value in before.items() if name not in same},
        {name: value for name, value in after.items() if name not in same},
    )
