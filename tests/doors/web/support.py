"""The templates' sources."""

from pathlib import Path

TEMPLATES = Path(__file__).parents[3] / "openslot" / "doors" / "web" / "templates"
SOURCES = sorted(TEMPLATES.rglob("*.html"))
