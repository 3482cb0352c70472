"""Marks beside words: icons of the sprite, a person's initials, and the six colors of people and event types."""

import re
from collections.abc import Callable, Mapping
from colorsys import rgb_to_hls
from functools import cache, lru_cache
from importlib.resources import files
from uuid import UUID
from zlib import crc32

from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from openslot.doors.web.shared.static_files import static_url
from openslot.platform.core.text import fold_ascii
from openslot.platform.i18n import Text

SPRITE = "icons.svg"
# The classes of dashboard.css that set the color of a text, of a mark and of what both lie on; by hue, in degrees.
ICONS = frozenset(
    re.findall(r'<symbol id="([a-z]+)"', (files("openslot.doors.web") / "static" / SPRITE).read_text("utf-8"))
)
HUES = {"blue": 226, "violet": 262, "teal": 165, "amber": 36, "rose": 340}
COLORS = (*HUES, "slate")
GRAY = 0.15
# What an event type can be given by hand: each looks on its host's pages like the one it is named after.
EVENT_COLORS = {
    "blue": (Text("Blue"), "#2563eb"),
    "violet": (Text("Violet"), "#7c3aed"),
    "teal": (Text("Teal"), "#0f766e"),
    "amber": (Text("Amber"), "#b45309"),
    "rose": (Text("Rose"), "#be123c"),
    "slate": (Text("Slate"), "#525f6b"),
}
STATE_ICONS = {"good": "check", "warn": "warning", "bad": "x", "wait": "clock", "off": "x", "private": "key"}


def icon_url(name: str) -> str:
    """Return the address of an icon; a name that the sprite does not have is a mistake of the page."""
    if name not in ICONS:
        raise KeyError(name)
    return f"{static_url(SPRITE)}#{name}"


# A page has dozens of icons, and the same ones as others.
# benchmarks/caches.py: write an icon, dozens of times in a page, 4.4 times
@cache
def write_icon(name: str, classes: str = "") -> Markup:
    """Write an icon of the sprite; `layout/marks.html` says what the classes are."""
    drawn = " ".join(filter(None, ("icon", "turn" if name == "chevron" else "", classes)))
    return Markup(f'<svg class="{drawn}" aria-hidden="true"><use href="{icon_url(name)}"/></svg>')  # noqa: S704 - names of our own


def initials(name: str) -> str:
    """Write one or two letters that stand for a person without a picture."""
    words = name.split()
    return "".join(word[0] for word in (words[0], words[-1])[: len(words)]).upper() if words else ""


def person_color(email: str) -> str:
    """Choose the color of a person by their address: the same on every page."""
    return COLORS[crc32(fold_ascii(email.strip()).encode()) % len(COLORS)]


# benchmarks/caches.py: find the color of an event type, in every row, 13 times
@lru_cache(maxsize=512)
def find_color(color: str) -> str:
    """Find which of the six is nearest to an event type's own color, which is `#` and six digits."""
    red, green, blue = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    hue, _, saturation = rgb_to_hls(red, green, blue)
    return "slate" if saturation < GRAY else min(HUES, key=lambda name: abs((hue * 360 - HUES[name] + 180) % 360 - 180))


def pick_color(event_types: tuple[str, ...]) -> str:
    """Pick the color of a new event type: one that no other of the host's looks like, while there is one."""
    taken = set(read_event_colors(event_types).values())
    return next((value for name, (_, value) in EVENT_COLORS.items() if name not in taken), EVENT_COLORS["blue"][1])


def read_event_colors(event_types: tuple[str, ...]) -> Mapping[UUID, str]:
    """Read the colors of a host's event types, each of which is written as its id and its color."""
    return {UUID(key): find_color(f"#{color}") for key, _, color in (each.partition("#") for each in event_types)}


@pass_context
def event_color(context: Context, event_type_id: UUID) -> str:
    """Return the color of one of the host's event types; of those that are too many to compare, one by the id."""
    chosen: Mapping[UUID, str] = context["event_colors"]
    return chosen.get(event_type_id) or COLORS[event_type_id.int % len(COLORS)]


FILTERS: Mapping[str, Callable[..., object]] = {
    "event_color": event_color,
    "initials": initials,
    "person_color": person_color,
}
