"""What is said of a CRM that does not do what is asked: kept in English, and shown in the reader's language."""

from openslot.domains.crm.ports import CrmBusy, CrmFault, CrmTokenRefused
from openslot.platform.i18n import CodedReason, Text

TOKEN_REFUSED = CodedReason("crm.token_refused", "The CRM no longer accepts the connection. Connect it again")
BUSY = CodedReason("crm.busy", "The CRM asks us to wait, because it got too many requests")
ANSWERED = CodedReason("crm.answered", "The CRM returned %(status)s")
UNREADABLE = CodedReason("crm.unreadable", "The CRM returned something that can't be read")
REFUSED_WITHOUT_REASON = CodedReason(
    "crm.refused_without_reason", "The CRM refuses this with status %(status)s and gives no reason"
)
SCOPES_MISSING = CodedReason("crm.scopes_missing", "The token lacks scopes: %(scopes)s")
DISCONNECTED = CodedReason("crm.disconnected", "the CRM is disconnected")
MEETING_GONE = CodedReason("crm.meeting_gone", "the meeting was deleted in the CRM")
BOOKING_GONE = CodedReason("crm.booking_gone", "the booking is gone")
EMPTY = Text("must not be empty")
SECRET_REFUSED = Text("was refused. Check that all of it was copied")
NOT_CHECKED = Text("could not be checked (%(reason)s). Try again in a minute")
UNKNOWN_VENDOR = Text("must be one of %(names)s")


def describe_fault(fault: CrmFault) -> str:
    """Say why something was not done, in words that can be kept; a vendor's own reason stays as it is."""
    if isinstance(fault, CrmTokenRefused):
        return TOKEN_REFUSED
    if isinstance(fault, CrmBusy):
        return BUSY
    return fault.args[0] if fault.args and isinstance(fault.args[0], CodedReason) else str(fault)
