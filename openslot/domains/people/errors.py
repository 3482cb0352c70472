"""What leaving refuses."""

from openslot.platform.core.errors import Conflict, NotFound
from openslot.platform.i18n import Text


class HeldDepartureNotFound(NotFound):
    code = "held_departure_not_found"
    message = "No departure of this user waits for a decision"


class DeparturePending(Conflict):
    code = "departure_pending"
    message = Text("This user's departure waits for a decision. Approve it, or reject it to bring the member back")
