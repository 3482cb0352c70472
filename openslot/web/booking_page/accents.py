"""The host's colour as a stylesheet of its own: with a strict policy, no page may carry it in an attribute."""

import hashlib
import re
from functools import lru_cache

from openslot.integrations.mail.rendering import DARK_PAPER, PAPER, ink_on, mix, readable_on
from openslot.web.assets import Asset

PATH = re.compile(r"accent/([0-9a-f]{6})\.css", re.ASCII)


def accent_url(colour: str) -> str:
    """Return the URL of a colour's stylesheet, which never changes."""
    name = f"accent/{colour.removeprefix('#')}.css"
    return f"/static/{name}?v={_make(colour.removeprefix('#')).version}"


def find_accent(path: str) -> Asset | None:
    """Return the stylesheet of a colour, or None where a path is not one."""
    match = PATH.fullmatch(path)
    return _make(match[1]) if match else None


@lru_cache(maxsize=512)
def _make(colour: str) -> Asset:
    light, dark = (shade(f"#{colour}", paper) for paper in (PAPER, DARK_PAPER))
    rules = ";".join(f"--{name}:light-dark({light[name]},{dark[name]})" for name in light)
    body = f":root{{{rules}}}\n".encode()
    version = hashlib.sha256(body).hexdigest()[:16]
    return Asset(body=body, media_type="text/css; charset=utf-8", version=version)


def shade(accent: str, paper: str) -> dict[str, str]:
    """Choose the shades of an accent: the colour is read on its own wash too, so the wash stays near the paper."""
    accent = readable_on(accent, paper)
    wash = mix(paper, accent, 0.1)
    accent = readable_on(accent, wash)
    ink = ink_on(accent)
    deep = mix(accent, "#000000" if paper == PAPER else "#ffffff", 0.15)
    return {"accent": accent, "accent-deep": deep, "accent-ink": ink, "accent-wash": wash}
