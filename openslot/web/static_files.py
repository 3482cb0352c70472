"""Static files over HTTP."""

from openslot.core.errors import NotFound
from openslot.routing import Request, Response, get
from openslot.web.assets import assets
from openslot.web.booking_page.accents import find_accent

FOR_GOOD = "public, max-age=31536000, immutable"
ASK_AGAIN = "public, no-cache"


@get("/static/{path:path}")
async def static_file(request: Request, path: str) -> Response:
    """Send a static file."""
    return send_asset(request, path)


@get("/favicon.ico")
async def favicon(request: Request) -> Response:
    """Send the icon to browsers that request it without reading the page."""
    return send_asset(request, "favicon.svg")


@get("/robots.txt")
async def robots(request: Request) -> Response:
    """List for crawlers the paths to skip."""
    return send_asset(request, "robots.txt")


def send_asset(request: Request, path: str) -> Response:
    """Send a file, or respond that the browser's copy is still valid."""
    asset = assets().get(path) or find_accent(path)
    if asset is None:
        raise NotFound
    etag = f'"{asset.version}"'
    named = request.query.get("v") == asset.version
    headers = {"etag": etag, "cache-control": FOR_GOOD if named else ASK_AGAIN}
    if is_current(request, etag):
        return Response(status=304, headers=headers)
    return Response(headers={**headers, "content-type": asset.media_type}, body=asset.body)


def is_current(request: Request, etag: str) -> bool:
    """Return whether the browser's copy is still valid."""
    known = request.headers.get("if-none-match", "")
    return any(one.strip().removeprefix("W/") in {etag, "*"} for one in known.split(","))
