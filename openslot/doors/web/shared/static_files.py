"""Static files over HTTP: styles, scripts and images, held in memory, so that no path from outside reaches the disk."""

import re
from functools import cache, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from openslot.domains.accounts.profiles.operations import find_picture
from openslot.domains.mail.rendering import DARK_PAPER, PAPER, ink_on, mix, readable_on
from openslot.doors.agents import images
from openslot.doors.http.assets import Asset, make_asset, send_asset
from openslot.platform.core.errors import NotFound
from openslot.platform.core.work import Work
from openslot.platform.routing import Request, Response, get

MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "jpg": "image/jpeg",
    "js": "text/javascript; charset=utf-8",
    "png": "image/png",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}
PATH = re.compile(r"accent/([0-9a-f]{6})\.css", re.ASCII)
FOR_GOOD = "public, max-age=31536000, immutable"
NAME = re.compile(r"([0-9a-f]{32})\.(jpg|png)")


# benchmarks/caches.py: host's page, 31 times
@cache
def assets() -> dict[str, Asset]:
    return dict(_read(files("openslot.doors.web") / "static", ""))


def static_url(path: str) -> str:
    """Return a static file's URL, which contains its hash, so that a browser may cache it forever."""
    return f"/static/{path}?v={assets()[path].version}"


def _read(folder: Traversable, beginning: str) -> list[tuple[str, Asset]]:
    found: list[tuple[str, Asset]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _read(entry, f"{beginning}{entry.name}/")
        elif (media_type := MEDIA_TYPES.get(entry.name.rpartition(".")[2])) is not None:
            found.append((beginning + entry.name, make_asset(entry.read_bytes(), media_type)))
    return found


def accent_url(color: str) -> str:
    name = f"accent/{color.removeprefix('#')}.css"
    return f"/static/{name}?v={_make(color.removeprefix('#')).version}"


def find_accent(path: str) -> Asset | None:
    """Return the stylesheet of a color, or None if a path is not one."""
    match = PATH.fullmatch(path)
    return _make(match[1]) if match else None


# benchmarks/caches.py: make the style of a color, in every page with one, 120 times
@lru_cache(maxsize=512)
def _make(color: str) -> Asset:
    light, dark = (shade(f"#{color}", paper) for paper in (PAPER, DARK_PAPER))
    rules = ";".join(f"--{name}:light-dark({light[name]},{dark[name]})" for name in light)
    return make_asset(f":root{{{rules}}}\n".encode(), MEDIA_TYPES["css"])


def shade(accent: str, paper: str) -> dict[str, str]:
    """Choose the shades of an accent: the color is read on its own wash too, so the wash stays near the paper."""
    accent = readable_on(accent, paper)
    wash = mix(paper, accent, 0.1)
    accent = readable_on(accent, wash)
    ink = ink_on(accent)
    deep = mix(accent, "#000000" if paper == PAPER else "#ffffff", 0.15)
    return {"accent": accent, "accent-deep": deep, "accent-ink": ink, "accent-wash": wash}


@get("/static/{path:path}")
async def static_file(request: Request, path: str) -> Response:
    return _send_static(request, path)


@get("/favicon.ico")
async def favicon(request: Request) -> Response:
    """Send the icon to browsers that request it without reading the page."""
    return _send_static(request, "favicon.svg")


@get("/robots.txt")
async def robots(request: Request) -> Response:
    return _send_static(request, "robots.txt")


def _send_static(request: Request, path: str) -> Response:
    asset = assets().get(path) or find_accent(path)
    if asset is None:
        raise NotFound
    return send_versioned(request, asset)


def send_versioned(request: Request, asset: Asset) -> Response:
    """Send what is the same for everyone; a browser keeps it for good if the address names this version."""
    is_named = request.query.get("v") == asset.version
    return send_asset(request, asset, {"cache-control": FOR_GOOD if is_named else "public, no-cache"})


@get("/photos/{name}")
async def send_photo(request: Request, work: Work, name: str) -> Response:
    """Send a host's photo, cover or logo."""
    match = NAME.fullmatch(name)
    picture = await find_picture(work, match[1], kind=match[2]) if match else None
    if match is None or picture is None:
        raise NotFound
    asset = Asset(body=picture, media_type=MEDIA_TYPES[match[2]], version=match[1])
    return send_asset(request, asset, {"cache-control": FOR_GOOD, "cross-origin-resource-policy": "cross-origin"})


@get("/photos/agents/{token}")
async def send_agent_image(work: Work, token: str) -> Response:
    """Send an image of an agent to whoever has its address, until that expires."""
    image = await images.find_image(work, token.removesuffix(".jpg")) if token.endswith(".jpg") else None
    if image is None:
        raise NotFound
    headers = {
        "content-type": "image/jpeg",
        "content-disposition": "inline; filename=image.jpg",
        "cache-control": "private, max-age=300",
        "x-robots-tag": "noindex",
    }
    return Response(headers=headers, body=image)
