"""The public side: what a host offers, and to hold and reschedule without a key."""

from functools import partial
from typing import Annotated
from uuid import UUID

from msgspec import Meta

from openslot.domains.accounts.profiles.operations import follow
from openslot.domains.availability.api import DurationMinutes, EndDate, StartDate, Timezone, check_days
from openslot.domains.availability.claims.operations import drop_slot_hold, hold_slot
from openslot.domains.availability.models import ById, ByPage
from openslot.domains.availability.operations import get_slot_context, list_open_slots
from openslot.domains.availability.schemas import ShownSlots, show_open
from openslot.domains.bookings import operations, schemas
from openslot.domains.bookings.errors import BookingNotConfirmed, BookingNotFound
from openslot.domains.bookings.links import read_manage_token
from openslot.domains.bookings.models import BookingRef
from openslot.domains.bookings.requests.operations import get_request_with_host
from openslot.domains.event_types.errors import EventTypeNotFound
from openslot.domains.event_types.operations import get_page_of_host
from openslot.domains.event_types.schemas import ShownHost, ShownHostPage, ShownOffer, show_host, show_offered
from openslot.platform.core.config import Settings
from openslot.platform.core.ids import parse_id
from openslot.platform.core.text import LINE
from openslot.platform.core.times import iso
from openslot.platform.core.work import Work
from openslot.platform.routing import Query, RateLimit, Request, Success, delete, get, post

READS = RateLimit("read", 120)
HOLDS = RateLimit("hold", 10)

Token = Annotated[Annotated[str, Meta(pattern=LINE)] | None, Meta(description="Token of a private event type"), Query()]


def booking_limit(settings: Settings) -> RateLimit:
    """Limit the bookings and changes of one address, whether they come by the API or by a form of a page."""
    return RateLimit("book", settings.limit_public)


@get("/{username}", summary="Get a host's page")
async def get_host_page(work: Work, username: str) -> ShownHostPage:
    """Get a host with their public event types."""
    page = await follow(work, username, partial(get_page_of_host, work))
    return ShownHostPage(host=show_host(page), event_types=[show_offered(each) for each in page.event_types])


@get("/{username}/{slug}", summary="Get a public event type")
async def get_offer(work: Work, username: str, slug: str, token: Token = None) -> ShownOffer:
    """Get an event type as invitees see it."""
    found = await follow(work, username, lambda name: get_slot_context(work, ByPage(name, slug, token)))
    host = ShownHost(name=found.host_name, username=found.host_username, timezone=found.host_zone)
    return ShownOffer(host=host, event_type=show_offered(found.inputs.event_type))


@get("/{username}/{slug}/slots", summary="List a host's available slots", check=check_days)
async def list_public_slots(
    work: Work,
    *,
    username: str,
    slug: str,
    timezone: Timezone,
    start_date: StartDate = None,
    end_date: EndDate = None,
    duration_minutes: DurationMinutes = None,
    token: Token = None,
) -> ShownSlots:
    """List the available start times of a host's event type."""
    found, slots, zone = await follow(
        work,
        username,
        lambda name: list_open_slots(
            work, ByPage(name, slug, token, duration_minutes), timezone=timezone, first=start_date, last=end_date
        ),
    )
    return show_open(found, slots, zone)


@post("/holds", limit=HOLDS)
async def create_hold(work: Work, request: Request, data: schemas.HoldBody) -> schemas.CreatedHold:
    """Hold a slot for ten minutes while a form is filled in. Each IP address can have three holds at a time.

    No booking needs a hold: where one is refused with 429, book without it.
    """
    which = ById(parse_id(data.event_type_id, EventTypeNotFound), data.token, data.duration_minutes)
    held = await hold_slot(work, which, data.start_time, holder=request.address)
    return schemas.CreatedHold(hold_id=str(held.id), expires_at=iso(held.expires_at))


@delete("/holds/{hold_id}", summary="Cancel a hold", limit=HOLDS)
async def delete_hold(work: Work, hold_id: UUID) -> Success:
    """Release a held slot before the hold expires."""
    await drop_slot_hold(work, hold_id)
    return Success()


@post("/manage/{token}/reschedule", summary="Reschedule a booking by its manage link")
async def reschedule_managed_booking(work: Work, token: str, data: schemas.RescheduleBody) -> Success:
    """Reschedule the booking that a manage link belongs to, at most 10 times in 24 hours."""
    ref = BookingRef(read_manage_token(work.runtime, token), None)
    try:
        await operations.reschedule_booking(work, ref, data.new_start_time, reason=data.reason)
    except BookingNotFound:
        if await operations.find_pending_with_host(work, ref.id) is None:
            await get_request_with_host(work, ref.id)
        raise BookingNotConfirmed from None
    return Success()
