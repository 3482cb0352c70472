"""The public tools, and how they are declared: find a host, see free times, hold one, book."""

from collections.abc import Awaitable, Callable
from datetime import date
from functools import partial
from typing import Annotated, Literal
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import msgspec
from msgspec import Meta, Raw
from msgspec.structs import replace

from openslot.domains.access import idempotency
from openslot.domains.access.door import network_of
from openslot.domains.accounts.profiles.operations import follow
from openslot.domains.availability.claims.operations import drop_slot_hold, hold_slot
from openslot.domains.availability.errors import HoldNotFound
from openslot.domains.availability.models import ById, ByPage, EventTypeRef
from openslot.domains.availability.operations import get_slot_context, list_open_slots
from openslot.domains.availability.schemas import write_slots
from openslot.domains.bookings import email_proofs, public_api
from openslot.domains.bookings.links import manage_url
from openslot.domains.bookings.models import BookingWanted, Status
from openslot.domains.bookings.schemas import (
    CreatedPublicBooking,
    EnteredCode,
    Id,
    InviteeFields,
    IsoMoment,
    Token,
    read_wanted,
    show_created,
    without_links,
)
from openslot.domains.event_types.errors import EventTypeNotFound
from openslot.domains.event_types.operations import get_page_of_host
from openslot.domains.event_types.schemas import WantedMinutes
from openslot.domains.payments.operations import book_with_payment, open_checkout
from openslot.doors.mcp.door import is_own_host
from openslot.doors.mcp.quotes import quote, quote_some
from openslot.doors.mcp.retries import IdempotencyKey, run_once
from openslot.doors.mcp.tools import Tool, define_tool, naming
from openslot.doors.public_tools.picker import PICKER_URI
from openslot.doors.public_tools.schemas import (
    BookedTime,
    HeldTime,
    HostOffers,
    QuotedHost,
    ShownTimes,
    WrittenTimes,
    show_booked,
    show_event_type,
)
from openslot.platform.core.actor import PUBLIC
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Invalid, Refusal
from openslot.platform.core.ids import parse_id
from openslot.platform.core.text import LINE, fold_ascii
from openslot.platform.core.times import Zone, iso
from openslot.platform.core.work import Work
from openslot.platform.routing import RateLimit, Success

PATH = "/mcp/public"
MAX_TIMES = 100

PageAddress = Annotated[
    str,
    Meta(
        pattern=LINE,
        min_length=1,
        max_length=500,
        description="A username, or the address of a host's page or of one event type's page",
        examples=["mara", "https://book.example/mara/intro-call"],
    ),
]
EventTypeId = Annotated[Id, Meta(description="The event type's id, from find_host")]
PrivateToken = Annotated[
    Token | None, Meta(description="Only for a private event type: `token` in the address that the person was given")
]
Minutes = Annotated[WantedMinutes, Meta(description="One of the event type's durations; the default if omitted")]
PersonsZone = Annotated[Zone, Meta(description="The person's time zone, as an IANA name", examples=["Europe/Berlin"])]
FirstDay = Annotated[date | None, Meta(description="First day, in that time zone; today if omitted")]
LastDay = Annotated[date | None, Meta(description="Last day, at most 62 days in all; a week later if omitted")]
Start = Annotated[IsoMoment, Meta(description="`startTime` of a free time")]


class PublicCall(msgspec.Struct, frozen=True):
    """What a tool knows about its caller."""

    address: str


class PublicTool(Tool, frozen=True, kw_only=True):
    """A tool that anyone can call."""

    transaction: Literal["one", "none"]
    limit: Callable[[Settings], RateLimit] | None
    """Counts a call beside the request; the same limit as that of the public API."""


def tool(
    *,
    is_read_only: bool = False,
    is_idempotent: bool = True,
    is_destructive: bool = False,
    reaches_outside: bool = False,
    transaction: Literal["one", "none"] = "none",
    limit: Callable[[Settings], RateLimit] | None = None,
    page: str | None = None,
) -> Callable[[Callable[..., Awaitable[object]]], PublicTool]:
    """Declare a tool by its function, as `define_tool` says."""
    return lambda function: define_tool(
        function,
        PublicTool,
        transaction=transaction,
        limit=limit,
        is_read_only=is_read_only,
        is_idempotent=is_idempotent,
        is_destructive=is_destructive,
        reaches_outside=reaches_outside,
        page=page,
    )


def _hold_limit(_: Settings) -> RateLimit:
    return public_api.HOLDS


@tool(is_read_only=True)
async def find_host(work: Work, *, page: PageAddress) -> HostOffers:
    """Find a host and what can be booked with them, by their username or the address of their booking page.

    Hosts are not listed anywhere: ask the person for the address. With the address of one event type, only that one is
    shown. It has the ids, durations, prices and questions that the other tools need.
    """
    address = read_address(page, work.runtime.settings)
    base = work.runtime.settings.public_url
    with naming("page"):
        if address.slug:
            found = await follow(
                work,
                address.username,
                lambda name: get_slot_context(work, ByPage(name, address.slug, address.token)),
            )
            host = QuotedHost(name=quote(found.host_name), username=found.host_username, timezone=found.host_zone)
            event_type = found.inputs.event_type
            page_url = f"{base}/{found.host_username}/{event_type.slug}"
            return HostOffers(host=host, event_types=[show_event_type(event_type)], page_url=page_url)
        shown = await follow(work, address.username, partial(get_page_of_host, work))
    return HostOffers(
        host=QuotedHost(
            name=quote(shown.name), username=shown.username, timezone=shown.zone, welcome=quote_some(shown.welcome)
        ),
        event_types=[show_event_type(each) for each in shown.event_types],
        page_url=f"{base}/{shown.username}",
    )


def read_address(page: str, settings: Settings) -> ByPage:
    """Read a username, or the address of one of our pages; the slug is empty where a host is meant."""
    if "/" not in page:
        return ByPage(page.strip().removeprefix("@"), "")
    try:
        parts = urlsplit(page.strip() if "://" in page else f"//{page.strip()}")
    except ValueError:
        raise Invalid(details={"page": "is not an address"}) from None
    names = [each for each in parts.path.split("/") if each]
    if not is_own_host(parts.netloc.lower(), settings) or not 1 <= len(names) <= 2:
        words = f"must be a username, or the address of a booking page at {settings.public_url}"
        raise Invalid(details={"page": words})
    username, slug = (*names, "")[:2]
    return ByPage(username, slug, next(iter(parse_qs(parts.query).get("token", ())), None))


@tool(is_read_only=True, page=PICKER_URI)
async def list_free_times(
    work: Work,
    *,
    event_type_id: EventTypeId,
    timezone: PersonsZone,
    start_date: FirstDay = None,
    end_date: LastDay = None,
    duration_minutes: Minutes = None,
    token: PrivateToken = None,
) -> ShownTimes:
    """List the times of an event type that can be booked, in the person's time zone.

    Offer the person some of them and let them choose. A time may be taken by somebody else before it is booked.
    """
    which = ById(_read_id(event_type_id, "eventTypeId", EventTypeNotFound), token, duration_minutes)
    with naming("eventTypeId"):
        return await list_times(work, which, timezone, (start_date, end_date))


async def list_times(
    work: Work, which: EventTypeRef, timezone: str, days: tuple[date | None, date | None], without: UUID | None = None
) -> WrittenTimes:
    first, last = days
    _, slots, zone = await list_open_slots(work, which, timezone=timezone, first=first, last=last, without=without)
    shown, rest = slots.starts[:MAX_TIMES], slots.starts[MAX_TIMES : MAX_TIMES + 1]
    continues_on = msgspec.json.decode(write_slots(replace(slots, starts=rest), viewer=zone))
    return WrittenTimes(
        data=Raw(write_slots(replace(slots, starts=shown), viewer=zone)),
        timezone=str(zone),
        duration_minutes=slots.duration // 60,
        continues_on=continues_on[0]["date"] if continues_on else None,
    )


@tool(is_idempotent=False, transaction="one", limit=_hold_limit)
async def hold_time(
    work: Work,
    call: PublicCall,
    *,
    event_type_id: EventTypeId,
    start_time: Start,
    duration_minutes: Minutes = None,
    token: PrivateToken = None,
) -> HeldTime:
    """Keep a free time for ten minutes, while the person answers the host's questions.

    No booking needs a hold: if this is refused because there are too many, book without it. Each address can have three
    holds at a time.
    """
    which = ById(_read_id(event_type_id, "eventTypeId", EventTypeNotFound), token, duration_minutes)
    with naming("eventTypeId"):
        held = await hold_slot(work, which, start_time, holder=call.address)
    return HeldTime(hold_id=str(held.id), expires_at=iso(held.expires_at))


@tool(is_destructive=True, transaction="one", limit=_hold_limit)
async def release_hold(work: Work, *, hold_id: Id) -> Success:
    """Give a held time back before its ten minutes are over, because the person has chosen another one."""
    held = _read_id(hold_id, "holdId", HoldNotFound)
    with naming("holdId"):
        await drop_slot_hold(work, held)
    return Success()


class BookArguments(InviteeFields, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What is to be booked, and for whom."""

    event_type_id: EventTypeId
    hold_id: Annotated[Id | None, Meta(description="From hold_time, if the time is held")] = None
    token: PrivateToken = None
    email_code: EnteredCode = None
    idempotency_key: IdempotencyKey = None


@tool(is_idempotent=False, reaches_outside=True, limit=public_api.booking_limit)
async def book(work: Work, call: PublicCall, *, arguments: BookArguments) -> BookedTime:
    """Book a free time for a person. Do it only after they have agreed to this time and to give the host their data.

    Ask for their name, email address and time zone, and for the answers to the host's required questions. The host and
    the invitee are told by email. What has a price is kept, not booked, until the person has paid at paymentUrl; what
    the host confirms waits for the host. Tell the person what nextStep says. If the event type has
    requiresEmailVerification, the first call sends a code to the person and fails with email_verification_required: ask
    them for the code, and call this again with emailCode.
    """
    request, runtime = _read_request(call, arguments), work.runtime

    async def book_once(wanted: BookingWanted) -> CreatedPublicBooking:
        return await runtime.run(PUBLIC, partial(_book_once, wanted=wanted, request=request))

    created = await email_proofs.book_proven(runtime, _read_wanted(arguments), book_once, from_address=call.address)
    if created.status is not Status.PENDING_PAYMENT or created.manage_url is msgspec.UNSET:
        return show_booked(created)
    try:
        url = await open_checkout(work.runtime, UUID(created.booking_id))
    except Refusal:
        if request is not None:
            await idempotency.forget_response(work, request)
        raise
    return show_booked(created, payment_url=url)


def _read_request(call: PublicCall, arguments: BookArguments) -> idempotency.RetriedRequest | None:
    if arguments.idempotency_key is None:
        return None
    return idempotency.read_request(
        caller=f"{arguments.event_type_id}\0{fold_ascii(arguments.invitee_email)}",
        method="POST",
        path=PATH,
        key=arguments.idempotency_key,
        body=msgspec.json.encode(arguments),
        network=network_of(call.address),
    )


def _read_wanted(arguments: BookArguments) -> BookingWanted:
    wanted = read_wanted(
        arguments,
        ById(
            _read_id(arguments.event_type_id, "eventTypeId", EventTypeNotFound),
            arguments.token,
            arguments.duration_minutes,
        ),
        hold_id=_read_id(arguments.hold_id, "holdId", HoldNotFound) if arguments.hold_id else None,
    )
    return replace(wanted, email_code=arguments.email_code)


async def _book_once(
    work: Work, *, wanted: BookingWanted, request: idempotency.RetriedRequest | None
) -> CreatedPublicBooking:
    """Book, or return what the same request has booked before."""
    return await run_once(work, request, CreatedPublicBooking, lambda: _book(work, wanted), hide=without_links)


async def _book(work: Work, wanted: BookingWanted) -> CreatedPublicBooking:
    booking = await book_with_payment(work, wanted)
    url = manage_url(work.runtime, booking.id)
    return show_created(
        booking, manage_url=url, payment_url=msgspec.UNSET, no_messages_to=msgspec.UNSET, series=msgspec.UNSET
    )


def _read_id(text: str, argument: str, refusal: type[Refusal]) -> UUID:
    with naming(argument):
        return parse_id(text, refusal)
