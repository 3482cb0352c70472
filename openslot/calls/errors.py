"""What calls refuse."""

from openslot.core.errors import NotFound
from openslot.i18n import Text


class CallNotFound(NotFound):
    """No such call, or it belongs to somebody else."""

    code = "call_not_found"
    message = Text("Call not found")
