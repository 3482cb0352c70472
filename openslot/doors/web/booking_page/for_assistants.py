"""Public pages as Markdown and JSON: which is asked for, what is said of an event type, and how to book."""

import re
from collections.abc import Sequence
from datetime import timedelta
from enum import Enum
from functools import lru_cache
from urllib.parse import urlencode

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.availability.models import ByPage, ByTeamPage
from openslot.domains.availability.months import MAX_DAYS
from openslot.domains.availability.operations import get_slot_context, list_open_slots
from openslot.domains.availability.schemas import Slot, write_slots
from openslot.domains.bookings.public_api import booking_limit
from openslot.domains.event_types.errors import LinkClosed
from openslot.domains.event_types.models import EventType
from openslot.domains.event_types.operations import get_page_of_host
from openslot.domains.event_types.rules import is_offered
from openslot.domains.event_types.schemas import OfferedEventType, ShownHost, show_host, show_offered
from openslot.domains.mail.operations import sends_mail
from openslot.domains.teams.hosting import list_public
from openslot.domains.teams.operations import get_team_by_slug
from openslot.doors.http.compression import LONGEST_HEADER, read_weights
from openslot.doors.http.doors import JSON, encode
from openslot.doors.http.errors import headers_of, status_of
from openslot.doors.public_tools.booking import PATH as TOOLS_PATH
from openslot.doors.web.shared.offers import list_facts, list_locations
from openslot.doors.web.shared.options import Options, read_options
from openslot.platform.core.errors import Invalid, NotFound, RateLimited, Refusal
from openslot.platform.core.times import get_zone
from openslot.platform.core.work import Work
from openslot.platform.i18n.languages import DEFAULT
from openslot.platform.routing import Request, Response, get

MARKDOWN = "text/markdown; charset=utf-8"
SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&!])")
# At the start of a line these make lists, headings and rules.
LEADING = re.compile(r"^(\s*)([-+=]|\d+[.)])")
_templates = Environment(
    loader=PackageLoader("openslot.doors.web", "templates/assistants"),
    autoescape=select_autoescape(["html"]),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
MAX_SLOTS = 40
CATALOG = "/.well-known/api-catalog"
SERVICE_LINKS = (
    f'<{TOOLS_PATH}>; rel="service"; title="Model Context Protocol", <{CATALOG}>; rel="api-catalog", '
    '</llms.txt>; rel="describedby"; type="text/plain"'
)
"""Where programs find what they can call, as a `Link` header says it."""
HEADERS = {
    "vary": "accept",
    "cache-control": "no-cache",
    "access-control-allow-origin": "*",
    "link": SERVICE_LINKS,
}
LINKSET = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'
PLAIN = "text/plain; charset=utf-8"


def plain(text: str) -> str:
    """Write a text of one line so that Markdown shows it as it is."""
    escaped = SPECIAL.sub(r"\\\1", " ".join(text.split()))
    return LEADING.sub(lambda match: f"{match[1]}{match[2][:-1]}\\{match[2][-1]}", escaped)


def quote(text: str) -> str:
    return "\n".join(f"> {plain(line)}".rstrip() for line in text.strip().splitlines())


_templates.filters |= {"plain": plain, "quote": quote}


def write_markdown(template: str, **values: object) -> bytes:
    return _templates.get_template(template).render(**values).encode()


class Format(Enum):
    """A format that a page can be asked for, by its media type and by the end of its path."""

    HTML = ("text/html", "")
    MARKDOWN = ("text/markdown", ".md")
    JSON = ("application/json", ".json")

    @property
    def media_type(self) -> str:
        return self.value[0]

    @property
    def suffix(self) -> str:
        return self.value[1]


def choose_format(request: Request) -> Format:
    """Choose by the end of the path, or else by what is accepted most; a browser gets HTML."""
    for each in (Format.MARKDOWN, Format.JSON):
        if request.path.endswith(each.suffix):
            return each
    return _choose_accepted(request.headers.get("accept", "")[:LONGEST_HEADER])


# benchmarks/caches.py: read what a visitor accepts, in every booking page, 42 times
@lru_cache(maxsize=256)
def _choose_accepted(header: str) -> Format:
    accepted = read_weights(header)
    return max(Format, key=lambda each: _rank(each, accepted))


def _rank(wanted: Format, accepted: dict[str, float]) -> tuple[float, bool]:
    """Rank a format by its weight; of two with the same weight, the one that is named outranks a wildcard."""
    family = f"{wanted.media_type.partition('/')[0]}/*"
    for name in (wanted.media_type, family, "*/*"):
        if name in accepted:
            return accepted[name], name == wanted.media_type
    return 0, False


class HostForAssistants(Struct, frozen=True, kw_only=True, rename="camel"):
    """A host with their public event types."""

    host: ShownHost
    event_types: list[OfferedEventType]
    page_url: str


class OfferForAssistants(Struct, frozen=True, kw_only=True, rename="camel"):
    """An event type with its next open slots, and the addresses to read more of them and to book one."""

    host: ShownHost
    event_type: OfferedEventType
    timezone: str
    first_day: str
    next_slots: list[Slot]
    page_url: str
    slots_url: str
    booking_url: str


async def write_host(work: Work, username: str, wanted: Format) -> Response:
    try:
        page = await get_page_of_host(work, username.removesuffix(wanted.suffix))
    except NotFound as refusal:
        return write_refusal(refusal, wanted)
    return _write_offers(work, wanted, show_host(page), page.event_types, welcome=page.welcome)


async def write_team(work: Work, slug: str, wanted: Format) -> Response:
    """Write a team's page for an assistant, as a host's."""
    try:
        team = await get_team_by_slug(work, slug.removesuffix(wanted.suffix))
    except NotFound as refusal:
        return write_refusal(refusal, wanted)
    shown = ShownHost(name=team.name, username=f"team/{team.slug}", timezone=team.zone)
    return _write_offers(work, wanted, shown, await list_public(work, team))


def _write_offers(
    work: Work, wanted: Format, host: ShownHost, event_types: Sequence[EventType], *, welcome: str | None = None
) -> Response:
    page_url = f"{work.runtime.settings.public_url}/{host.username}"
    if wanted is Format.JSON:
        offered = [show_offered(each) for each in event_types]
        return _send_json(HostForAssistants(host=host, event_types=offered, page_url=page_url))
    offers = [(each, _list_facts(each, host.name)) for each in event_types]
    return _send_markdown("host.md", host=host, welcome=welcome, offers=offers, page_url=page_url)


async def write_offer(work: Work, request: Request, which: ByPage | ByTeamPage, wanted: Format) -> Response:
    """Write an event type's page for an assistant, with its next open slots."""
    which = replace(which, slug=which.slug.removesuffix(wanted.suffix))
    try:
        offer, event_type = await _read_offer(work, which, read_options(request))
    except (NotFound, Invalid, LinkClosed) as refusal:
        return write_refusal(refusal, wanted)
    if wanted is Format.JSON:
        return _send_json(offer)
    facts = _list_facts(event_type, offer.host.name)
    return _send_markdown(
        "offer.md",
        offer=offer,
        is_offered=is_offered(event_type),
        facts=facts,
        places=list_locations(event_type, offer.host.name),
        token=which.token,
        minutes=which.minutes,
        max_=MAX_SLOTS,
        days=MAX_DAYS,
    )


async def _read_offer(work: Work, which: ByPage | ByTeamPage, options: Options) -> tuple[OfferForAssistants, EventType]:
    zone = options.zone or get_zone((await get_slot_context(work, which)).host_zone)
    length = {"durationMinutes": str(which.minutes)} if which.minutes else {}
    today = work.now.astimezone(zone).date()
    first = max(options.on or today, today)
    last = first + timedelta(days=MAX_DAYS - 1)
    found, slots, _ = await list_open_slots(work, which, timezone=str(zone), first=first, last=last)
    first_slots = write_slots(replace(slots, starts=slots.starts[:MAX_SLOTS]), viewer=zone)
    event_type = found.inputs.event_type
    asked = {"timezone": str(zone), "startDate": first.isoformat(), "endDate": last.isoformat()}
    query = urlencode(asked | length | ({"token": which.token} if which.token else {}))
    base, path = work.runtime.settings.public_url, f"{found.host_username}/{event_type.slug}"
    offer = OfferForAssistants(
        host=ShownHost(name=found.host_name, username=found.host_username, timezone=found.host_zone),
        event_type=show_offered(event_type),
        timezone=str(zone),
        first_day=first.isoformat(),
        next_slots=msgspec.json.decode(first_slots, type=list[Slot]),
        page_url=f"{base}/{path}" + (f"?{urlencode({'token': which.token})}" if which.token else ""),
        slots_url=f"{base}/api/public/{path}/slots?{query}",
        booking_url=f"{base}/api/bookings",
    )
    return offer, event_type


def _list_facts(event_type: EventType, host_name: str) -> list[str]:
    return [str(fact.text) for fact in list_facts(event_type, host_name, DEFAULT)]


def _send_json(body: object) -> Response:
    return Response(headers={**HEADERS, "content-type": JSON}, body=encode(body))


def _send_markdown(template: str, **values: object) -> Response:
    return Response(headers={**HEADERS, "content-type": MARKDOWN}, body=write_markdown(template, **values))


def write_refusal(refusal: Refusal, wanted: Format) -> Response:
    """Write why there is nothing to read, in the format that was asked for."""
    headers = {"x-error-code": refusal.code, **headers_of(refusal)}
    if wanted is Format.JSON:
        shown = _send_json({"error": refusal.message} | ({"details": refusal.details} if refusal.details else {}))
    else:
        wait = refusal.retry_after if isinstance(refusal, RateLimited) else None
        shown = _send_markdown("refused.md", message=refusal.message, details=refusal.details or {}, wait=wait)
    return replace(shown, status=status_of(refusal), headers={**headers, **shown.headers})


@get(CATALOG)
async def show_catalog(work: Work) -> Response:
    """List what programs can call here, as RFC 9727 says."""
    base = work.runtime.settings.public_url
    api = {
        "service-desc": [{"href": f"{base}/api/openapi.json", "type": JSON}],
        "service-doc": [{"href": f"{base}/api/docs", "type": "text/html"}],
        "status": [{"href": f"{base}/healthz"}],
    }
    tools = {"service-doc": [{"href": f"{base}/llms.txt", "type": "text/plain"}]}
    anchors = {f"{base}/api/v1": api, f"{base}/api/public": api, f"{base}{TOOLS_PATH}": tools}
    linkset = [{"anchor": anchor, **links} for anchor, links in anchors.items()]
    headers = {"content-type": LINKSET, "cache-control": "public, max-age=3600", "link": SERVICE_LINKS}
    return Response(headers={**headers, "access-control-allow-origin": "*"}, body=encode({"linkset": linkset}))


@get("/llms.txt", is_public=True)
async def llms_text(work: Work) -> Response:
    """Explain to assistants what the service is, and how to book with it."""
    settings = work.runtime.settings
    text = write_markdown(
        "llms.txt",
        base_url=settings.public_url,
        bookings_per_minute=booking_limit(settings).max_,
        sends_mail=sends_mail(work.runtime),
    )
    return Response(headers={"content-type": PLAIN, "cache-control": "public, max-age=3600"}, body=text)
