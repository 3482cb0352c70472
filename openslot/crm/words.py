"""What is said of a CRM that does not do what is asked: kept in English, and shown in the reader's language."""

from openslot.core.outbound.targets import FAILURES, SENTENCES
from openslot.crm.ports import CrmBusy, CrmFault, CrmTokenRefused
from openslot.i18n import Text, recall

TOKEN_REFUSED = Text("The CRM no longer accepts the connection. Connect it again")
BUSY = Text("The CRM asks us to wait, because it got too many requests")
ANSWERED = Text("The CRM returned %(status)s")
UNREADABLE = Text("The CRM returned something that can't be read")
REFUSED_WITHOUT_REASON = Text("The CRM refuses this with status %(status)s and gives no reason")
SCOPES_MISSING = Text("The token lacks scopes: %(scopes)s")
DISCONNECTED = Text("the CRM is disconnected")
MEETING_GONE = Text("the meeting was deleted in the CRM")
BOOKING_GONE = Text("the booking is gone")
EMPTY = Text("must not be empty")
SECRET_REFUSED = Text("was refused. Check that all of it was copied")
NOT_CHECKED = Text("could not be checked (%(reason)s). Try again in a minute")
UNKNOWN_VENDOR = Text("must be one of %(names)s")
OWN = (
    TOKEN_REFUSED,
    BUSY,
    ANSWERED,
    UNREADABLE,
    REFUSED_WITHOUT_REASON,
    SCOPES_MISSING,
    DISCONNECTED,
    MEETING_GONE,
    BOOKING_GONE,
    *SENTENCES.values(),
    *FAILURES,
)


def describe_fault(fault: CrmFault) -> str:
    """Say why something was not done, in words that can be kept; a vendor's own reason stays as it is."""
    if isinstance(fault, CrmTokenRefused):
        return str(TOKEN_REFUSED)
    if isinstance(fault, CrmBusy):
        return str(BUSY)
    return str(fault)


def show_fault(stored: str) -> str:
    """Return a kept fault as a text that can be translated."""
    return recall(stored, OWN)
