"""What assistants do, in the words of their users."""

from openslot.doors.oauth.models import CallOutcome
from openslot.platform.i18n import Text

TOOLS: dict[str, Text] = {
    "list_bookings": Text("List bookings"),
    "get_booking": Text("Look at a booking"),
    "list_event_types": Text("List event types"),
    "get_availability": Text("List free times"),
    "explain_time": Text("Explain why a time is closed"),
    "list_contacts": Text("List contacts"),
    "create_booking": Text("Create a booking"),
    "reschedule_booking": Text("Reschedule a booking"),
    "cancel_booking": Text("Cancel a booking"),
    "mark_no_show": Text("Mark a no-show"),
    "block_time": Text("Block time"),
    "create_link": Text("Create a booking link"),
    "create_contact": Text("Create a contact"),
    "update_contact": Text("Change a contact"),
    "delete_contact": Text("Delete a contact"),
    "get_approval": Text("Look at a request"),
}
OUTCOMES: dict[CallOutcome, tuple[Text, str]] = {
    CallOutcome.OK: (Text("Done"), "good"),
    CallOutcome.REFUSED: (Text("Refused"), "bad"),
    CallOutcome.WAITING: (Text("Waiting"), "wait"),
    CallOutcome.FAILED: (Text("Failed"), "bad"),
}


def name_tool(tool: str) -> str:
    """Say what a tool does; one that is not known, as an assistant has named it."""
    return TOOLS.get(tool, tool)
