"""The link of an event type as a QR code, on a page to print and as an image."""

from functools import lru_cache
from io import BytesIO
from urllib.parse import urlencode

from msgspec.structs import replace

from openslot.availability import operations as availability
from openslot.availability.models import ByPage
from openslot.core.work import Work
from openslot.routing import Request, Response, get
from openslot.web.booking_page.former_links import follow_former
from openslot.web.booking_page.options import read_options
from openslot.web.booking_page.refusing import limit_views
from openslot.web.pages import page

SVG = "image/svg+xml"
# Visits by the code are counted as their own source.
SOURCE = {"utm_source": "qr"}


@get("/{username}/{slug}/qr")
@limit_views
@follow_former
async def show_qr(work: Work, request: Request, username: str, slug: str) -> Response:
    """Show the code with what it leads to, ready to print."""
    options = read_options(request)
    found = await availability.get_offer(work, ByPage(username, slug, options.token))
    event_type = found.inputs.event_type
    shown = page(
        "booking/qr.html",
        None,
        locale=options.locale,
        event_type=event_type,
        host_name=found.host_name,
        link=_link(work, found.host_username, event_type.slug, options.token),
        image=f"{request.path}.svg{_query(options.token)}",
    )
    return replace(shown, headers={**shown.headers, "vary": "accept-language"})


@get("/{username}/{slug}/qr.svg")
@limit_views
@follow_former
async def qr_image(work: Work, request: Request, username: str, slug: str) -> Response:
    """Send the code as an image that can be printed at any size."""
    token = read_options(request).token
    found = await availability.get_offer(work, ByPage(username, slug, token))
    link = _link(work, found.host_username, found.inputs.event_type.slug, token, **SOURCE)
    return Response(headers={"content-type": SVG, "cache-control": "private, no-cache"}, body=draw_qr(link))


@lru_cache(maxsize=512)
def draw_qr(link: str) -> bytes:
    """Draw a link's code in black on white, with the margin that scanners need."""
    # Loaded with the first code: every start of a process would wait for the library.
    import segno  # noqa: PLC0415

    image = BytesIO()
    code = segno.make(link, error="m", micro=False)
    code.save(image, kind="svg", border=4, dark="#000", light="#fff", xmldecl=False, omitsize=True)
    return image.getvalue()


def _link(work: Work, username: str, slug: str, token: str | None, **more: str) -> str:
    return f"{work.runtime.settings.public_url}/{username}/{slug}{_query(token, **more)}"


def _query(token: str | None, **more: str) -> str:
    query = urlencode(({"token": token} if token else {}) | more)
    return f"?{query}" if query else ""
