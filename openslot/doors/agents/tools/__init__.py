"""Every tool of the server, by domain."""

from openslot.doors.agents.registry import AgentTool
from openslot.doors.agents.tools import (
    analytics,
    audit,
    bookings,
    budget,
    codebase,
    contacts,
    email,
    events,
    flags,
    images,
    infrastructure,
    users,
)

TOOLS = tuple(
    each
    for domain in (
        analytics,
        flags,
        infrastructure,
        audit,
        users,
        bookings,
        contacts,
        events,
        budget,
        codebase,
        email,
        images,
    )
    for each in vars(domain).values()
    if isinstance(each, AgentTool)
)
