"""Public pages as Markdown and JSON: the same data as the public API, and how to book, in English like the API."""

from datetime import timedelta
from urllib.parse import urlencode

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from openslot.availability import operations as availability
from openslot.availability.date_range import MOST_DAYS
from openslot.availability.models import ByPage, SlotContext
from openslot.availability.schemas import Slot
from openslot.availability.slot_json import write_slots
from openslot.core.errors import NotFound, Refusal, TooMany
from openslot.core.work import Work
from openslot.core.zones import get_zone
from openslot.event_types.models import EventType
from openslot.event_types.operations import get_host_page
from openslot.event_types.schemas import OfferedEventType, ShownHost, show_host, show_offered
from openslot.http.doors import JSON, encode
from openslot.http.refusals import headers_of, status_of
from openslot.i18n.languages import DEFAULT
from openslot.routing import Request, Response
from openslot.web.booking_page.facts import list_facts
from openslot.web.booking_page.formats import Format
from openslot.web.booking_page.markdown import MARKDOWN, write_markdown
from openslot.web.booking_page.options import Options, read_options

MOST_SLOTS = 40
HEADERS = {"vary": "accept", "cache-control": "no-cache", "access-control-allow-origin": "*"}


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
    """Write a host's page for an assistant."""
    try:
        page = await get_host_page(work, username.removesuffix(wanted.suffix))
    except NotFound as refusal:
        return write_refusal(refusal, wanted)
    page_url = f"{work.runtime.settings.public_url}/{page.username}"
    if wanted is Format.JSON:
        offered = [show_offered(each) for each in page.event_types]
        return _send_json(HostForAssistants(host=show_host(page), event_types=offered, page_url=page_url))
    offers = [(each, _list_facts(each, page.name)) for each in page.event_types]
    return _send_markdown(write_markdown("host.md", host=page, offers=offers, page_url=page_url))


async def write_offer(work: Work, request: Request, which: ByPage, wanted: Format) -> Response:
    """Write an event type's page for an assistant, with its next open slots."""
    which = replace(which, slug=which.slug.removesuffix(wanted.suffix))
    try:
        offer, event_type = await _read_offer(work, which, read_options(request))
    except NotFound as refusal:
        return write_refusal(refusal, wanted)
    if wanted is Format.JSON:
        return _send_json(offer)
    facts = _list_facts(event_type, offer.host.name)
    text = write_markdown("offer.md", offer=offer, facts=facts, token=which.token, most=MOST_SLOTS, days=MOST_DAYS)
    return _send_markdown(text)


async def _read_offer(work: Work, which: ByPage, options: Options) -> tuple[OfferForAssistants, EventType]:
    zone = options.zone or get_zone((await availability.get_offer(work, which)).host_zone)
    today = work.now.astimezone(zone).date()
    first = max(options.on or today, today)
    last = first + timedelta(days=MOST_DAYS - 1)
    found, slots, _ = await availability.list_open(work, which, timezone=str(zone), first=first, last=last)
    first_slots = write_slots(replace(slots, starts=slots.starts[:MOST_SLOTS]), viewer=zone)
    event_type = found.inputs.event_type
    asked = {"timezone": str(zone), "startDate": first.isoformat(), "endDate": last.isoformat()}
    query = urlencode(asked | ({"token": which.token} if which.token else {}))
    base, path = work.runtime.settings.public_url, f"{found.host_username}/{event_type.slug}"
    offer = OfferForAssistants(
        host=_show_host(found),
        event_type=show_offered(event_type),
        timezone=str(zone),
        first_day=first.isoformat(),
        next_slots=msgspec.json.decode(first_slots, type=list[Slot]),
        page_url=f"{base}/{path}" + (f"?{urlencode({'token': which.token})}" if which.token else ""),
        slots_url=f"{base}/api/public/{path}/slots?{query}",
        booking_url=f"{base}/api/bookings",
    )
    return offer, event_type


def _show_host(found: SlotContext) -> ShownHost:
    return ShownHost(name=found.host_name, username=found.host_username, timezone=found.host_zone)


def _list_facts(event_type: EventType, host_name: str) -> list[str]:
    return [str(fact.text) for fact in list_facts(event_type, host_name, DEFAULT)]


def _send_json(body: Struct) -> Response:
    return Response(headers={**HEADERS, "content-type": JSON}, body=encode(body))


def _send_markdown(text: str) -> Response:
    return Response(headers={**HEADERS, "content-type": MARKDOWN}, body=text.encode())


def write_refusal(refusal: Refusal, wanted: Format) -> Response:
    """Write why there is nothing to read, in the format that was asked for."""
    headers = {**HEADERS, "x-error-code": refusal.code, **headers_of(refusal)}
    if wanted is Format.JSON:
        body = encode({"error": refusal.message})
        return Response(status=status_of(refusal), headers={**headers, "content-type": JSON}, body=body)
    wait = refusal.retry_after if isinstance(refusal, TooMany) else None
    text = write_markdown("refused.md", message=refusal.message, wait=wait)
    return Response(status=status_of(refusal), headers={**headers, "content-type": MARKDOWN}, body=text.encode())
