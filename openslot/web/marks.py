"""Marks beside words: icons of the sprite, a person's initials, and the six colors of people and event types."""

import re
from collections.abc import Callable, Mapping
from colorsys import rgb_to_hls
from functools import cache, lru_cache
from uuid import UUID
from zlib import crc32

from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from openslot.web.static_files import assets, static_url

SPRITE = "icons.svg"
# The classes of dashboard.css that set the color of a text, of a mark and of what both lie on; by hue, in degrees.
HUES = {"blue": 226, "violet": 262, "teal": 165, "amber": 36, "rose": 340}
COLORS = (*HUES, "slate")
GRAY = 0.15
STATE_ICONS = {"good": "check", "warn": "warning", "bad": "x", "wait": "clock", "off": "x", "private": "key"}


@cache
def list_icons() -> frozenset[str]:
    return frozenset(re.findall(r'<symbol id="([a-z]+)"', assets()[SPRITE].body.decode()))


@cache
def icon_url(name: str) -> str:
    """Return the address of an icon; a name that the sprite does not have is a mistake of the page."""
    if name not in list_icons():
        raise KeyError(name)
    return f"{static_url(SPRITE)}#{name}"


# A page has dozens of icons, and the same ones as others.
@cache
def write_icon(name: str, classes: str = "") -> Markup:
    """Write an icon of the sprite; `layout/marks.html` says what the classes are."""
    drawn = " ".join(filter(None, ("icon", "turn" if name == "chevron" else "", classes)))
    return Markup('<svg class="{}" aria-hidden="true"><use href="{}"/></svg>').format(drawn, icon_url(name))


def initials(name: str) -> str:
    """Write one or two letters that stand for a person without a picture."""
    words = name.split()
    return "".join(word[0] for word in (words[0], words[-1])[: len(words)]).upper() if words else ""


def person_color(email: str) -> str:
    """Choose the color of a person by their address: the same on every page."""
    return COLORS[crc32(email.strip().lower().encode()) % len(COLORS)]


@lru_cache(maxsize=512)
def order_colors(color: str) -> tuple[str, ...]:
    """List the six, the nearest to an event type's own color first, which is `#` and six digits."""
    red, green, blue = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    hue, _, saturation = rgb_to_hls(red, green, blue)
    nearest = sorted(HUES, key=lambda name: abs((hue * 360 - HUES[name] + 180) % 360 - 180))
    return ("slate", *nearest) if saturation < GRAY else (*nearest, "slate")


@lru_cache(maxsize=512)
def choose_event_colors(event_types: tuple[str, ...]) -> Mapping[UUID, str]:
    """Give a host's event types different ones of the six, as far as they reach, each as near to its own as possible.

    An event type is written as its id and its color. The first that is nearest to one gets it.
    """
    wanted = {UUID(key): order_colors(f"#{color}") for key, _, color in (each.partition("#") for each in event_types)}
    chosen: dict[UUID, str] = {}
    for key, colors in wanted.items():
        if colors[0] not in chosen.values():
            chosen[key] = colors[0]
    for key, colors in wanted.items():
        if key not in chosen:
            chosen[key] = next((color for color in colors if color not in chosen.values()), colors[0])
    return chosen


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
