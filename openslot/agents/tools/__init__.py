"""Every tool of the server, by domain."""

from openslot.agents.registry import Tool
from openslot.agents.tools.audit import AUDIT_TOOLS
from openslot.agents.tools.budget import BUDGET_TOOLS
from openslot.agents.tools.email import EMAIL_TOOLS

TOOLS: tuple[Tool, ...] = (*AUDIT_TOOLS, *BUDGET_TOOLS, *EMAIL_TOOLS)
