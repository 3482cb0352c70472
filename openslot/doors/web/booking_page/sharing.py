"""How a page looks where its link is shared, and its address as a QR code."""

from decimal import Decimal
from urllib.parse import urlencode

from babel.numbers import get_currency_precision
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.availability.models import ByPage, ByTeamPage
from openslot.domains.availability.operations import get_slot_context
from openslot.domains.event_types.models import EventType, Money
from openslot.domains.event_types.rules import is_offered
from openslot.doors.web.booking_page.for_assistants import SERVICE_LINKS, Format
from openslot.doors.web.booking_page.refusals import follow_former, limit_views
from openslot.doors.web.shared.options import read_options
from openslot.doors.web.shared.pages import page
from openslot.doors.web.shared.qr import draw_qr
from openslot.doors.web.shared.static_files import static_url
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Request, Response, get

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
    linked_data: Markup | None = None
    """The data of a listed page for search engines and assistants: whose it is, and that it can be booked."""

    @property
    def links(self) -> str:
        """The page's `Link` header: its other formats, and where programs find all others."""
        if not self.is_listed:
            return SERVICE_LINKS
        formats = (Format.MARKDOWN, Format.JSON)
        others = [f'<{self.path}{each.suffix}>; rel="alternate"; type="{each.media_type}"' for each in formats]
        return ", ".join([*others, SERVICE_LINKS])


def preview_host(work: Work, name: str, username: str) -> SharePreview:
    preview = _preview(work, f"/{username}", title=name, description=_invite(name))
    return replace(preview, linked_data=_link_data({"@type": "Person", "name": name}, target=preview.url))


def preview_team(work: Work, name: str, slug: str) -> SharePreview:
    preview = _preview(work, f"/team/{slug}", title=name, description=_invite(name))
    return replace(preview, linked_data=_link_data({"@type": "Organization", "name": name}, target=preview.url))


def preview_event_type(work: Work, event_type: EventType, host_name: str, username: str) -> SharePreview:
    """Describe an event type's page; a private one without its token, which is a secret."""
    preview = _preview(
        work,
        f"/{username}/{event_type.slug}",
        title=Text("%(event)s with %(host)s", event=event_type.name, host=host_name),
        description=_shorten(event_type.description) or _invite(host_name),
        is_listed=not event_type.is_private,
    )
    if event_type.is_private or not is_offered(event_type):
        return preview
    described: dict[str, object] = {
        "@type": "Service",
        "name": event_type.name,
        "provider": {"@type": "Person", "name": host_name},
    }
    if event_type.price is not None:
        described["offers"] = _describe_price(event_type.price)
    return replace(preview, linked_data=_link_data(described, target=f"{preview.url}?date={{date}}"))


def _describe_price(price: Money) -> dict[str, object]:
    amount = Decimal(price.amount).scaleb(-get_currency_precision(price.currency))
    return {"@type": "Offer", "price": str(amount), "priceCurrency": price.currency}


def _link_data(described: dict[str, object], *, target: str) -> Markup:
    """Write JSON-LD, so that nothing in it can end the element that it stands in."""
    action = {"@type": "ReserveAction", "target": {"@type": "EntryPoint", "urlTemplate": target}}
    written = {"@context": "https://schema.org", **described, "potentialAction": action}
    return htmlsafe_json_dumps(written, separators=(",", ":"))


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
    return await show_qr_of(work, request, ByPage(username, slug, read_options(request).token))


@get("/{username}/{slug}/qr.svg")
@limit_views
@follow_former
async def qr_image(work: Work, request: Request, username: str, slug: str) -> Response:
    """Send the code as an image that can be printed at any size."""
    return await draw_qr_of(work, ByPage(username, slug, read_options(request).token))


async def show_qr_of(work: Work, request: Request, which: ByPage | ByTeamPage) -> Response:
    options = read_options(request)
    found = await get_slot_context(work, which)
    event_type = found.inputs.event_type
    shown = page(
        "booking/qr.html",
        None,
        locale=options.locale,
        event_type=event_type,
        host_name=found.host_name,
        link=_link(work, found.host_username, event_type.slug, which.token),
        image=f"{request.path}.svg{_query(which.token)}",
    )
    return replace(shown, headers={**shown.headers, "vary": "accept-language"})


async def draw_qr_of(work: Work, which: ByPage | ByTeamPage) -> Response:
    found = await get_slot_context(work, which)
    link = _link(work, found.host_username, found.inputs.event_type.slug, which.token, **SOURCE)
    return Response(headers={"content-type": SVG, "cache-control": "private, no-cache"}, body=draw_qr(link))


def _link(work: Work, username: str, slug: str, token: str | None, **more: str) -> str:
    return f"{work.runtime.settings.public_url}/{username}/{slug}{_query(token, **more)}"


def _query(token: str | None, **more: str) -> str:
    query = urlencode(({"token": token} if token else {}) | more)
    return f"?{query}" if query else ""
