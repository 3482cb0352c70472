"""The templates' sources."""

from pathlib import Path

TEMPLATES = Path(__file__).parents[2] / "openslot" / "web" / "templates"
SOURCES = sorted(TEMPLATES.rglob("*.html"))
