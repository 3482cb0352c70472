"""Every tool of the server, by domain."""

from openslot.agents.registry import Tool

TOOLS: tuple[Tool, ...] = ()
