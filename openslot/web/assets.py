"""The package's own styles, scripts and images, held in memory, so that no path from outside reaches the disk."""

import hashlib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from msgspec import Struct

MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "png": "image/png",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}


class Asset(Struct, frozen=True, kw_only=True):
    """One static file as it is sent."""

    body: bytes
    media_type: str
    version: str


@cache
def assets() -> dict[str, Asset]:
    """Read every static file once."""
    return dict(_read(files("openslot.web") / "static", ""))


def static_url(path: str) -> str:
    """Return a static file's URL, which contains its hash, so that a browser may cache it forever."""
    return f"/static/{path}?v={assets()[path].version}"


def _read(folder: Traversable, beginning: str) -> list[tuple[str, Asset]]:
    found: list[tuple[str, Asset]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _read(entry, f"{beginning}{entry.name}/")
        elif (media_type := MEDIA_TYPES.get(entry.name.rpartition(".")[2])) is not None:
            body = entry.read_bytes()
            version = hashlib.sha256(body).hexdigest()[:16]
            found.append((beginning + entry.name, Asset(body=body, media_type=media_type, version=version)))
    return found
