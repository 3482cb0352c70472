"""How many pages a visitor may open."""

from openslot.platform.routing import RateLimit

VIEWS = RateLimit("page", 600)
"""Pages that one address may open: many people may share it, and each turns through months."""
