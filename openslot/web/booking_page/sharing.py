"""How a page looks where its link is shared, and its address as a QR code."""

from functools import lru_cache
from io import BytesIO
from urllib.parse import urlencode

from msgspec import Struct
from msgspec.structs import replace

from openslot.availability import operations as availability
from openslot.availability.models import ByPage
from openslot.core.work import Work
from openslot.event_types.models import EventType
from openslot.i18n import Text
from openslot.routing import Request, Response, get
from openslot.web.booking_page.options import read_options
from openslot.web.booking_page.refusals import follow_former, limit_views
from openslot.web.pages import page
from openslot.web.static_files import static_url

LONGEST = 200
SVG = "image/svg+xml"
# Visits by the code are counted as their own source.
SOURCE = {"utm_source": "qr"}


class SharePreview(Struct, frozen=True, kw_only=True):
    """What a message or a post shows of a page."""

    title: str
    description: str
    url: str
    path: str
    image: str
    is_listed: bool = True
    """Whether search engines may list the page."""


def preview_host(work: Work, name: str, username: str) -> SharePreview:
    return _preview(work, f"/{username}", title=name, description=_invite(name))


def preview_event_type(work: Work, event_type: EventType, host_name: str, username: str) -> SharePreview:
    """Describe an event type's page; a private one without its token, which is a secret."""
    return _preview(
        work,
        f"/{username}/{event_type.slug}",
        title=Text("%(event)s with %(host)s", event=event_type.name, host=host_name),
        description=_shorten(event_type.description) or _invite(host_name),
        is_listed=not event_type.is_private,
    )


def _preview(work: Work, path: str, *, title: str, description: str, is_listed: bool = True) -> SharePreview:
    base = work.runtime.settings.public_url
    image = f"{base}{static_url('share.png')}"
    return SharePreview(
        title=title, description=description, url=f"{base}{path}", path=path, image=image, is_listed=is_listed
    )


def _invite(host_name: str) -> Text:
    return Text("Choose a time to meet with %(host)s.", host=host_name)


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1].rstrip()}…"


@get("/{username}/{slug}/qr", is_public=True)
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
