"""The wait list for those who book: join it, confirm the address, and book or decline what is offered."""

from datetime import UTC, date, datetime, time
from typing import Annotated
from uuid import uuid4

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.availability.errors import SlotUnavailable
from openslot.domains.availability.models import ByPage, BySlug, SlotContext
from openslot.domains.availability.operations import get_slot_context
from openslot.domains.bookings.errors import InviteeLimitReached, PaymentUnavailable
from openslot.domains.bookings.models import EmailProof, Status
from openslot.domains.bookings.public_api import booking_limit
from openslot.domains.bookings.words import format_day, format_hours, format_zone
from openslot.domains.payments.words import show_amount
from openslot.domains.wait_list import errors
from openslot.domains.wait_list.models import EntryState, FoundEntry, Offer, WaitListWanted
from openslot.domains.wait_list.operations import (
    WAIT_LIST_PAGE,
    confirm_entry,
    decline_offer,
    get_wait_list_entry,
    join_wait_list,
    leave_wait_list,
    read_wait_list_token,
)
from openslot.domains.wait_list.public_api import JOINS
from openslot.doors.http.doors import take
from openslot.doors.http.errors import headers_of, status_of
from openslot.doors.web.booking_page import forms, paying
from openslot.doors.web.booking_page.refusals import follow_former, limit_views, list_warnings
from openslot.doors.web.shared.booking_forms import BookingForm
from openslot.doors.web.shared.booking_view import FRAMED, find_look, hours_of, manage_path, paying_policy, show
from openslot.doors.web.shared.offers import list_locations
from openslot.doors.web.shared.options import Options, read_options, with_zone
from openslot.doors.web.shared.pages import redirect
from openslot.platform.core.actor import PUBLIC
from openslot.platform.core.errors import Conflict, Invalid, RateLimited, Refusal
from openslot.platform.core.text import EmailAddress, LanguageTag, Name
from openslot.platform.core.times import Zone, get_zone
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Request, Response, WhenEmpty, get, post

REFUSALS = SlotUnavailable, RateLimited, Invalid, PaymentUnavailable, InviteeLimitReached, paying.PriceChanged


class JoinForm(Struct, frozen=True, kw_only=True):
    name: Annotated[Name, WhenEmpty(Text("Enter your name"))]
    email: Annotated[EmailAddress, WhenEmpty(Text("Enter your email address"))]
    tz: Zone


@get("/{username}/{slug}/wait-list")
@limit_views
@follow_former
async def show_join(work: Work, request: Request, username: str, slug: str) -> Response:
    options = read_options(request)
    found = await _find_full(work, username, slug, options)
    if found is None:
        return redirect(f"/{username}/{slug}{options.query}")
    names = {name: options.prefill(name) for name in ("name", "email")}
    return _show_join(work, request, options, found, Form(values=names))


@post("/{username}/{slug}/wait-list", transaction="none")
@limit_views
@follow_former
async def join(work: Work, request: Request, username: str, slug: str, form: Form[JoinForm]) -> Response:
    """Join the wait list on behalf of the public, within the limit of bookings; the address is confirmed by mail."""
    options = with_zone(read_options(request), form["tz"])
    found = await _find_full(work, username, slug, options)
    if found is None or options.on is None:
        return redirect(f"/{username}/{slug}{options.query}")
    if form[forms.TRAP]:
        form = form.with_faults({forms.TRAP: forms.TRAPPED})
    if form.faults:
        return _show_join(work, request, options, found, form, refusal=Invalid())
    sent = form.get()
    wanted = WaitListWanted(
        which=_name(username, slug, options),
        day=options.on,
        starts_at=options.start,
        name=sent.name,
        email=sent.email,
        zone=sent.tz,
        locale=LanguageTag.parse(options.locale.formats),
    )
    try:
        await take(work.runtime, JOINS, request.address)
        await work.runtime.run(PUBLIC, lambda own: join_wait_list(own, wanted))
    except (Conflict, RateLimited) as refusal:
        return _show_join(work, request, options, found, form, refusal=refusal)
    return _show_join(work, request, options, found, form, is_done=True)


def _name(username: str, slug: str, options: Options) -> ByPage:
    return ByPage(username, slug, options.token, options.minutes)


async def _find_full(work: Work, username: str, slug: str, options: Options) -> SlotContext | None:
    """Look up what is to be waited for; None if the address does not say for which day, or there is no list."""
    try:
        found = await get_slot_context(work.acting_as(PUBLIC), _name(username, slug, options))
    except Invalid:
        # The host does not offer this duration any more.
        return None
    has_list = found.inputs.event_type.wait_list_minutes is not None and found.link is None
    return found if options.on is not None and has_list else None


def _show_join(
    work: Work,
    request: Request,
    options: Options,
    found: SlotContext,
    form: Form[JoinForm],
    *,
    refusal: Refusal | None = None,
    is_done: bool = False,
) -> Response:
    zone, event_type = options.zone or get_zone(found.host_zone), found.inputs.event_type
    asked = f"date={options.on}" + (f"&start={request.query['start']}" if options.start else "")
    shown = show(
        "booking/wait_list_join.html",
        options,
        color=found.host_color or event_type.color,
        brand=found.host_brand,
        status=status_of(refusal) if refusal else 200,
        is_personal=True,
        path=request.path,
        asked=f"{options.query}&{asked}" if options.query else f"?{asked}",
        back=f"{request.path.removesuffix('/wait-list')}{options.query}",
        host_name=found.host_name,
        event_type=event_type,
        day=_write_day(options.on, options) if options.on else "",
        chosen=forms.show_start(options.start, zone, options.locale, hours_of(options)) if options.start else None,
        zone=str(zone),
        form=form,
        picked=None,
        is_done=is_done,
        warnings=list_warnings(refusal, True) if refusal and not form.faults else (),
    )
    return replace(shown, headers={**shown.headers, **headers_of(refusal)}) if refusal else shown


def _write_day(on: date, options: Options) -> str:
    return format_day(datetime.combine(on, time(12), UTC), "UTC", options.locale)


@get("/wait-list/{token}")
@limit_views
async def show_entry(work: Work, request: Request, token: str) -> Response:
    """Show how somebody's wait stands; opening the link changes nothing, because mail scanners open links."""
    found = await get_wait_list_entry(work, read_wait_list_token(work.runtime, token))
    return await _show_entry(work, read_options(request), token, found)


@post("/wait-list/{token}/confirm", transaction="none")
@limit_views
async def confirm(work: Work, request: Request, token: str) -> Response:
    entry_id = read_wait_list_token(work.runtime, token)
    await work.runtime.run(PUBLIC, lambda own: confirm_entry(own, entry_id))
    return _go_to(token, read_options(request))


@post("/wait-list/{token}/decline", transaction="none")
@limit_views
async def decline(work: Work, request: Request, token: str) -> Response:
    entry_id = read_wait_list_token(work.runtime, token)
    await work.runtime.run(PUBLIC, lambda own: decline_offer(own, entry_id))
    return _go_to(token, read_options(request))


@post("/wait-list/{token}/leave", transaction="none")
@limit_views
async def leave(work: Work, request: Request, token: str) -> Response:
    """Leave the wait list; nothing is left to show, so the answer says it."""
    entry_id, options = read_wait_list_token(work.runtime, token), read_options(request)
    found = await get_wait_list_entry(work, entry_id)
    await work.runtime.run(PUBLIC, lambda own: leave_wait_list(own, entry_id))
    return await _show_entry(work, options, token, found, has_left=True)


@post("/wait-list/{token}", transaction="none")
@limit_views
async def book(work: Work, request: Request, token: str, form: Form[BookingForm]) -> Response:
    """Book what is kept for somebody, by the verb that books every other time."""
    entry_id, options = read_wait_list_token(work.runtime, token), read_options(request)
    found = await get_wait_list_entry(work, entry_id)
    offer, entry = found.offer, found.entry
    if offer is None or not offer.is_open(now=work.now):
        return await _show_entry(work, options, token, found)
    if form.faults:
        return await _show_entry(work, options, token, found, form=form, refusal=Invalid())
    which = BySlug(entry.host_id, found.event_type.slug, entry.minutes)
    wanted = forms.read_wanted(which, form, options)
    # The address has been confirmed; another one has not.
    invitee = replace(wanted.invitee, email=entry.email, zone=entry.zone)
    proof = EmailProof(entry.email)
    wanted = replace(wanted, invitee=invitee, starts_at=offer.starts_at, hold_id=offer.hold_id, email_proof=proof)
    sent = paying.SentForm(
        path=request.path, key=forms.read_id(form["key"]), seen_price=form["price"], entry_id=entry_id
    )
    try:
        await take(work.runtime, booking_limit(work.runtime.settings), request.address)
        booking_id = await paying.book(work.runtime, wanted, sent)
        checkout = await paying.find_checkout(work.acting_as(PUBLIC), booking_id)
    except errors.OfferNotOpen:
        return _go_to(token, options)
    except REFUSALS as refusal:
        faults = forms.name_faults(refusal.faults, phone=forms.name_phone(form), place=forms.name_place(form))
        named = form.with_faults(faults)
        # The offer has ended if it was booked and could not be paid.
        found = await get_wait_list_entry(work, entry_id)
        return await _show_entry(work, options, token, found, form=named, refusal=refusal)
    return redirect(checkout or manage_path(work, booking_id, options, done="booked"))


def _go_to(token: str, options: Options) -> Response:
    return redirect(f"{WAIT_LIST_PAGE}{token}{options.query}")


async def _show_entry(
    work: Work,
    options: Options,
    token: str,
    found: FoundEntry,
    *,
    form: Form[BookingForm] | None = None,
    refusal: Refusal | None = None,
    has_left: bool = False,
) -> Response:
    if found.booking_id and not (has_left or found.is_freed or found.booking_status is Status.CONFIRMED):
        # What is to be paid or confirmed, or was cancelled, is told by its own page.
        return redirect(manage_path(work, found.booking_id, options, done=""))
    entry, event_type, locale = found.entry, found.event_type, options.locale
    look = await find_look(work.acting_as(PUBLIC), event_type.owner_id, color=event_type.color)
    offer = found.offer if found.offer and found.offer.is_open(now=work.now) and not has_left else None
    form = form or Form(values={"name": entry.name, "email": entry.email})
    starts_at = offer.starts_at if offer else entry.starts_at
    is_redirected = event_type.price or event_type.redirect_url
    return show(
        "booking/wait_list.html",
        options,
        color=look.color,
        brand=look.brand,
        status=status_of(refusal) if refusal else 200,
        is_personal=True,
        policy=paying_policy(work.runtime.settings) if is_redirected else FRAMED,
        path=f"{WAIT_LIST_PAGE}{token}",
        entry=entry,
        event_type=event_type,
        host_name=found.host_name,
        host_username=found.host_username,
        state="left" if has_left else _name_state(work, found, offer),
        manage=manage_path(work, found.booking_id, options, done="") if found.booking_id else None,
        offer=offer,
        day=format_day(starts_at, entry.zone, locale) if starts_at else _write_day(entry.day, options),
        time=_write_hours(entry.zone, offer, options) if offer else None,
        start=forms.show_start(starts_at, get_zone(entry.zone), locale, hours_of(options)) if starts_at else None,
        zone=format_zone(starts_at or entry.until, entry.zone, locale),
        until=forms.show_start(offer.expires_at, get_zone(entry.zone), locale, hours_of(options)) if offer else None,
        price=show_amount(event_type.price).localize(locale) if event_type.price else None,
        seen_price=paying.name_price(event_type.price, event_type.refund_policy),
        key=forms.read_id(form["key"]) or uuid4(),
        form=form,
        picked=None,
        asked=forms.AskedFields(
            questions=event_type.questions,
            keeps_mail=True,
            sends_messages=False,
            max_weeks=1,
            places=list_locations(event_type, found.host_name),
        ),
        # Without the form, nothing can be tried again.
        warnings=list_warnings(refusal, True)[: None if offer else 1] if refusal else (),
    )


def _write_hours(zone: str, offer: Offer, options: Options) -> str:
    return format_hours(offer.starts_at, offer.ends_at, zone, options.locale)


def _name_state(work: Work, found: FoundEntry, offer: Offer | None) -> str:
    state = EntryState.WAITING if found.is_freed else found.entry.state
    if state is EntryState.BOOKED:
        return "booked"
    if offer is not None:
        return "offered"
    if found.entry.until <= work.now:
        return "over"
    return state.value
