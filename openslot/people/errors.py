"""What leaving refuses."""

from openslot.core.errors import Conflict, NotFound
from openslot.i18n import Text


class HeldDepartureNotFound(NotFound):
    """No departure of a member with this email address waits for a decision."""

    code = "held_departure_not_found"
    message = "No departure of this user waits for a decision"


class DepartureWaits(Conflict):
    """The departure of this user waits for a decision."""

    code = "departure_waits"
    message = Text("This user's departure waits for a decision. Approve it, or reject it to bring the member back")
