"""What happened to teams."""

from typing import ClassVar
from uuid import UUID

from openslot.platform.core.events import Event


class TeamMemberEvent(Event, frozen=True, kw_only=True):
    """Something happened to somebody's place in a team."""

    team_id: UUID
    organization_id: UUID
    user_id: UUID

    @property
    def tenant_id(self) -> UUID | None:
        return self.user_id

    @property
    def subject(self) -> tuple[str, UUID | None]:
        return "team", self.team_id


class TeamMemberAdded(TeamMemberEvent, frozen=True, kw_only=True):
    """A user joined a team."""

    type: ClassVar[str] = "team.member_added"


class TeamMemberRemoved(TeamMemberEvent, frozen=True, kw_only=True):
    """A user left a team, or was removed from it."""

    type: ClassVar[str] = "team.member_removed"


class EventTypeTakenOver(Event, frozen=True, kw_only=True):
    """An event type of a team has another owner."""

    type: ClassVar[str] = "event_type.taken_over"
    event_type_id: UUID
    team_id: UUID
    owner_id: UUID

    @property
    def tenant_id(self) -> UUID | None:
        return self.owner_id

    @property
    def subject(self) -> tuple[str, UUID | None]:
        return "event_type", self.event_type_id


TEAM_EVENTS: tuple[type[Event], ...] = (TeamMemberAdded, TeamMemberRemoved, EventTypeTakenOver)
