"""Marks beside words: icons of the sprite, a person's initials, and the six colors of people and event types."""

import re
from collections.abc import Callable, Mapping
from colorsys import rgb_to_hls
from functools import cache, lru_cache
from zlib import crc32

from openslot.web.static_files import assets, static_url

SPRITE = "icons.svg"
# The classes of dashboard.css that set the color of a text, of a mark and of what both lie on; by hue, in degrees.
HUES = {"blue": 226, "violet": 262, "teal": 165, "amber": 36, "rose": 340}
COLORS = (*HUES, "slate")
GRAY = 0.15


@cache
def list_icons() -> frozenset[str]:
    return frozenset(re.findall(r'<symbol id="([a-z]+)"', assets()[SPRITE].body.decode()))


@cache
def icon_url(name: str) -> str:
    """Return the address of an icon; a name that the sprite does not have is a mistake of the page."""
    if name not in list_icons():
        raise KeyError(name)
    return f"{static_url(SPRITE)}#{name}"


def initials(name: str) -> str:
    """Write one or two letters that stand for a person without a picture."""
    words = name.split()
    return "".join(word[0] for word in (words[0], words[-1])[: len(words)]).upper() if words else ""


def person_color(email: str) -> str:
    """Choose the color of a person by their address: the same on every page."""
    return COLORS[crc32(email.strip().lower().encode()) % len(COLORS)]


@lru_cache(maxsize=512)
def event_color(color: str) -> str:
    """Choose the one of the six that is nearest to an event type's own color, which is `#` and six digits."""
    red, green, blue = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    hue, _, saturation = rgb_to_hls(red, green, blue)
    if saturation < GRAY:
        return "slate"
    return min(HUES, key=lambda name: abs((hue * 360 - HUES[name] + 180) % 360 - 180))


FILTERS: Mapping[str, Callable[..., object]] = {
    "event_color": event_color,
    "initials": initials,
    "person_color": person_color,
}
