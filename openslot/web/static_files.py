"""Static files over HTTP."""

from litestar import Response, get
from litestar.params import FromPath

from openslot.core.errors import NotFound
from openslot.http.doors import visit_of
from openslot.web.assets import assets
from openslot.web.pages import PageRequest, query_of

FOR_GOOD = "public, max-age=31536000, immutable"
ASK_AGAIN = "public, no-cache"


@get("/static/{path:path}")
async def static_file(request: PageRequest, path: FromPath[str]) -> Response[bytes]:
    """Send a static file."""
    return send_asset(request, path.lstrip("/"))


@get("/favicon.ico")
async def favicon(request: PageRequest) -> Response[bytes]:
    """Send the icon to browsers that ask without reading the page."""
    return send_asset(request, "favicon.svg")


@get("/robots.txt")
async def robots(request: PageRequest) -> Response[bytes]:
    """Tell crawlers where nothing is to be found."""
    return send_asset(request, "robots.txt")


def send_asset(request: PageRequest, path: str) -> Response[bytes]:
    """Send a file, or say that the browser's copy is still good."""
    asset = assets().get(path)
    if asset is None:
        raise NotFound
    etag = f'"{asset.version}"'
    named = query_of(request).get("v") == asset.version
    headers = {"etag": etag, "cache-control": FOR_GOOD if named else ASK_AGAIN}
    if _matches(visit_of(request.scope).headers.get("if-none-match", ""), etag):
        return Response(b"", status_code=304, headers=headers)
    return Response(asset.body, headers=headers, media_type=asset.media_type)


def _matches(wanted: str, etag: str) -> bool:
    return any(one.strip().removeprefix("W/") in {etag, "*"} for one in wanted.split(","))
