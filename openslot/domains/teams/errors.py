"""What teams refuse."""

from collections.abc import Mapping

from openslot.platform.core.errors import Conflict, NotFound
from openslot.platform.i18n import Text


class TeamNotFound(NotFound):
    """No such team, or it is not one of the caller's."""

    code = "team_not_found"
    message = Text("Team not found")


class TeamNameAlreadyExists(Conflict):
    """The organization has another team with this name."""

    code = "team_name_already_exists"
    message = Text("Another team of the organization has this name")
    faults: Mapping[str, str] = {"name": Text("is taken")}


class TeamSlugAlreadyExists(Conflict):
    """Another team has this slug."""

    code = "team_slug_already_exists"
    message = Text("Another team has this slug")
    faults: Mapping[str, str] = {"slug": Text("is taken")}


class TeamMemberNotFound(NotFound):
    """Nobody in the team is the one who was named."""

    code = "team_member_not_found"
    message = Text("Not a member of the team")


class TeamMemberAlreadyExists(Conflict):
    """The user belongs to the team already."""

    code = "team_member_already_exists"
    message = Text("Already a member of the team")


class TeamEventTypeNotFound(NotFound):
    """The team has no such event type."""

    code = "team_event_type_not_found"
    message = Text("The team has no such event type")
