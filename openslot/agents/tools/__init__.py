"""Every tool of the server, by domain."""

from openslot.agents.registry import Tool
from openslot.agents.tools.audit import AUDIT_TOOLS
from openslot.agents.tools.bookings import BOOKING_TOOLS
from openslot.agents.tools.budget import BUDGET_TOOLS
from openslot.agents.tools.contacts import CONTACT_TOOLS
from openslot.agents.tools.email import EMAIL_TOOLS
from openslot.agents.tools.events import EVENT_TOOLS
from openslot.agents.tools.flags import FLAG_TOOLS
from openslot.agents.tools.users import USER_TOOLS

TOOLS: tuple[Tool, ...] = (
    *FLAG_TOOLS,
    *AUDIT_TOOLS,
    *USER_TOOLS,
    *BOOKING_TOOLS,
    *CONTACT_TOOLS,
    *EVENT_TOOLS,
    *BUDGET_TOOLS,
    *EMAIL_TOOLS,
)
