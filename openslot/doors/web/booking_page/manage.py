"""The page of one booking, for anyone who has its link: view it, reschedule it, cancel it."""

from collections.abc import Awaitable, Callable
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.availability.errors import SlotUnavailable
from openslot.domains.bookings.errors import (
    BookingAlreadyCancelled,
    BookingAlreadyEnded,
    BookingNotFound,
    RescheduleByHostOnly,
)
from openslot.domains.bookings.links import manage_url, read_manage_token
from openslot.domains.bookings.models import Booking, BookingDetails, BookingRef, Host, Status
from openslot.domains.bookings.operations import (
    cancel_booking,
    find_message_consent,
    find_unused_phone,
    get_booking_with_host,
    reschedule_booking,
    withdraw_message_consent,
)
from openslot.domains.bookings.public_api import booking_limit
from openslot.domains.bookings.rules import can_change, name_wanted_time
from openslot.domains.bookings.series.operations import cancel_series, list_series, list_skipped
from openslot.domains.bookings.words import (
    LINK_SHOWN_HERE,
    format_day,
    format_hours,
    format_location,
    format_short,
    format_zone,
)
from openslot.domains.event_types.rules import write_redirect
from openslot.domains.mail.calendar_entry import google_url, outlook_url
from openslot.domains.mail.letters import describe_meeting
from openslot.domains.mail.models import MailKind
from openslot.domains.mail.operations import is_told
from openslot.domains.payments import rules
from openslot.doors.http.doors import take
from openslot.doors.http.errors import headers_of, status_of
from openslot.doors.web.booking_page import forms, paying, requested
from openslot.doors.web.booking_page.refusals import limit_views, list_warnings
from openslot.doors.web.shared.booking_forms import Picked, pick_month
from openslot.doors.web.shared.booking_view import find_look, hours_of, manage_path, show, show_zone, zones_page
from openslot.doors.web.shared.offers import list_facts
from openslot.doors.web.shared.options import Options, read_options, read_start
from openslot.doors.web.shared.pages import redirect
from openslot.platform.core.actor import PUBLIC
from openslot.platform.core.errors import Invalid, RateLimited, Refusal
from openslot.platform.core.times import get_zone, iso
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text, recall
from openslot.platform.routing import Form, Request, Response, get, post

HEADINGS = {
    "booked": Text("Your meeting is confirmed"),
    "rescheduled": Text("Your meeting has a new time"),
    "cancelled": Text("Your meeting is cancelled"),
    "stopped": Text("You get no more messages about this meeting"),
}
TOLD_BY = {"booked": MailKind.CONFIRMATION, "rescheduled": MailKind.RESCHEDULE}
CANCELLED, OVER, UPCOMING = Text("This meeting is cancelled"), Text("This meeting is over"), Text("Your meeting")


async def show_booking(
    work: Work,
    details: BookingDetails,
    host: Host,
    options: Options,
    *,
    path: str,
    viewer: User | None,
    target: str | None = None,
) -> Response:
    """Show a booking, and first what was just done with it; hosts who have booked themselves see the way back."""
    booking, locale = details.booking, options.locale
    meeting, entry = await describe_meeting(work, details)
    zone = booking.invitee_zone
    is_on = can_change(booking, now=work.now)
    is_cancelled = booking.status is Status.CANCELLED
    # An address can't call a cancelled meeting confirmed.
    consent = await find_message_consent(work, booking.id) if not is_cancelled else None
    done = options.done if options.done in HEADINGS and (options.done == "cancelled") == is_cancelled else ""
    done = "" if done == "stopped" and consent else done
    return show(
        "booking/manage.html",
        options,
        color=meeting.host.brand.color,
        brand=meeting.host.page,
        is_personal=True,
        path=path,
        heading=HEADINGS.get(done) or (CANCELLED if is_cancelled else UPCOMING if is_on else OVER),
        done=done,
        is_unmailed=done in TOLD_BY and not await is_told(work, booking, TOLD_BY[done]),
        manage_url=manage_url(work.runtime, booking.id),
        booking=booking,
        reason=recall(booking.cancel_reason) if booking.cancel_reason else None,
        is_on=is_on,
        target=target,
        shows_addresses=meeting.shows_addresses,
        messages_to=consent.phone if consent else None,
        no_messages_to=await find_unused_phone(work, booking.id) if is_on else None,
        is_own=viewer is not None and viewer.id == booking.host_id and viewer.email == booking.invitee_email,
        host=host,
        event_type=details.event_type,
        day=format_day(booking.starts_at, zone, locale),
        time=format_hours(booking.starts_at, booking.ends_at, zone, locale),
        zone=format_zone(booking.starts_at, zone, locale),
        place=LINK_SHOWN_HERE if booking.location.awaits_link else format_location(booking.location, host.name),
        google=google_url(entry),
        outlook=outlook_url(entry),
        money=await paying.find_money(work, booking),
        starts_at=iso(booking.starts_at),
        ends_at=iso(booking.ends_at),
        dates=await _list_dates(work, booking, options),
        skipped=[
            format_short(each, zone, locale) for each in (await list_skipped(work, booking) if done == "booked" else ())
        ],
    )


class ShownDate(Struct, frozen=True, kw_only=True):
    """A date of a booking's series."""

    path: str | None
    """The path of its page; None if it is this one."""
    day: str
    time: str
    is_cancelled: bool


async def _list_dates(work: Work, booking: Booking, options: Options) -> list[ShownDate]:
    zone, locale = booking.invitee_zone, options.locale
    return [
        ShownDate(
            path=manage_path(work, each.id, options, done="") if each.id != booking.id else None,
            day=format_day(each.starts_at, zone, locale),
            time=format_hours(each.starts_at, each.ends_at, zone, locale),
            is_cancelled=each.status is Status.CANCELLED,
        )
        for each in await list_series(work, booking)
    ]


class Managed(Struct, frozen=True, kw_only=True):
    work: Work
    path: str
    address: str
    options: Options
    details: BookingDetails
    host: Host

    @property
    def booking(self) -> Booking:
        return self.details.booking


@get("/manage/{token}")
@limit_views
async def show_managed(work: Work, request: Request, user: User | None, token: str) -> Response:
    try:
        managed = await _open(work, request, token)
    except BookingNotFound:
        return await _show_waiting(work, request, token)
    options, target = managed.options, _find_redirect(managed)
    # Another site can't be expected to show itself in a frame: the page leads there.
    if target is not None and not options.is_embedded:
        return redirect(target)
    return await show_booking(
        work, managed.details, managed.host, options, path=managed.path, viewer=user, target=target
    )


def _find_redirect(managed: Managed) -> str | None:
    """Find where the host sends people who have just booked."""
    url, is_on = managed.details.event_type.redirect_url, can_change(managed.booking, now=managed.work.now)
    return write_redirect(url, managed.booking.id) if url and is_on and managed.options.done == "booked" else None


async def _show_waiting(work: Work, request: Request, token: str) -> Response:
    """Show a booking that waits for its host, or for its payment."""
    try:
        return await requested.show_request(work, read_manage_token(work.runtime, token), read_options(request))
    except BookingNotFound:
        return await paying.show_unpaid(work, request, token)


@get("/manage/{token}/reschedule")
@limit_views
async def show_reschedule(work: Work, request: Request, token: str) -> Response:
    """Show the times that a booking can be moved to, or the one that was chosen."""
    managed = await _open(work, request, token)
    options = managed.options
    if options.view == "zones":
        return zones_page(work, options, back=request.path, host_zone=managed.host.zone)
    if not _may_reschedule(managed):
        return redirect(managed.path.removesuffix("/reschedule") + options.query)
    picked = await _pick(managed)
    return await _show_times(managed, picked, status=200 if picked.is_open else 409)


@post("/manage/{token}/reschedule", transaction="none")
@limit_views
async def reschedule(work: Work, request: Request, token: str, form: Form[forms.RescheduleForm]) -> Response:
    managed = await _open(work, request, token)
    if form.faults:
        return await _ask_again(managed, form, Invalid())
    sent = form.get()
    try:
        await _change(managed, partial(reschedule_booking, starts_at=sent.start, reason=sent.reason))
    except (SlotUnavailable, RateLimited, Invalid) as refusal:
        return await _ask_again(managed, form.with_faults(forms.name_faults(refusal.faults)), refusal)
    except (BookingAlreadyCancelled, BookingAlreadyEnded, RescheduleByHostOnly):
        return redirect(manage_path(work, managed.booking.id, managed.options, done=""))
    return redirect(manage_path(work, managed.booking.id, managed.options, done="rescheduled"))


def _may_reschedule(managed: Managed) -> bool:
    return can_change(managed.booking, now=managed.work.now) and not managed.details.event_type.requires_confirmation


@get("/manage/{token}/cancel")
@limit_views
async def ask_to_cancel(work: Work, request: Request, token: str) -> Response:
    return await _show_cancel(await _open(work, request, token), Form())


@post("/manage/{token}/cancel", transaction="none")
@limit_views
async def cancel(work: Work, request: Request, token: str, form: Form[forms.CancelForm]) -> Response:
    managed = await _open(work, request, token)
    if form.faults:
        return await _show_cancel(managed, form, Invalid())
    try:
        verb = cancel_series if form["series"] and managed.booking.series_id else cancel_booking
        await _change(managed, partial(verb, reason=form.get().reason))
    except RateLimited as refusal:
        return await _show_cancel(managed, form, refusal)
    except BookingAlreadyEnded:
        return redirect(manage_path(work, managed.booking.id, managed.options, done=""))
    return redirect(manage_path(work, managed.booking.id, managed.options, done="cancelled"))


@post("/manage/{token}/messages", transaction="none")
@limit_views
async def stop_messages(work: Work, request: Request, token: str) -> Response:
    """Send the invitee no more messages about the booking."""
    managed = await _open(work, request, token)
    try:
        await _change(managed, withdraw_message_consent)
    except RateLimited:
        return redirect(manage_path(work, managed.booking.id, managed.options, done=""))
    return redirect(manage_path(work, managed.booking.id, managed.options, done="stopped"))


async def _open(work: Work, request: Request, token: str) -> Managed:
    ref = BookingRef(read_manage_token(work.runtime, token), None)
    details, host = await get_booking_with_host(work, ref)
    return Managed(
        work=work.acting_as(PUBLIC),
        path=request.path,
        address=request.address,
        options=read_options(request),
        details=details,
        host=host,
    )


async def _change(managed: Managed, change: Callable[[Work, BookingRef], Awaitable[object]]) -> None:
    """Change a booking on behalf of the public, within the limit of the API."""
    runtime, ref = managed.work.runtime, BookingRef(managed.booking.id, None)
    await take(runtime, booking_limit(runtime.settings), managed.address)
    await runtime.run(PUBLIC, lambda work: change(work, ref))


async def _pick(managed: Managed, start: str = "") -> Picked:
    """Read the times that a booking can have; its own does not stand in its way."""
    booking, options = managed.booking, managed.options
    which, own = name_wanted_time(booking, managed.details.event_type), booking.seat_id or booking.claim_id
    zone, chosen = get_zone(booking.invitee_zone), read_start(start) or options.start
    if chosen is None:
        if options.on is None and options.month is None:
            # Around the time that it has, where people look for another one.
            options = replace(options, on=booking.starts_at.astimezone(options.zone or zone).date())
        return await pick_month(managed.work, which, options, zone=zone, without=own, apart_from=booking.starts_at)
    return await forms.pick_start(managed.work, which, options, chosen, zone=zone, without=own)


async def _ask_again(managed: Managed, form: Form[forms.RescheduleForm], refusal: Refusal) -> Response:
    picked = await _pick(managed, form["start"])
    warnings = list_warnings(refusal, picked.is_open)
    shown = await _show_times(managed, picked, form=form, status=status_of(refusal), warnings=warnings)
    return replace(shown, headers={**shown.headers, **headers_of(refusal)})


async def _show_times(
    managed: Managed,
    picked: Picked,
    *,
    form: Form[forms.RescheduleForm] | None = None,
    status: int = 200,
    warnings: tuple[str, ...] = (),
) -> Response:
    options, event_type, host = managed.options, managed.details.event_type, managed.host
    locale, hours = options.locale, hours_of(options)
    look = await find_look(managed.work, event_type.owner_id, color=event_type.color)
    return show(
        "booking/reschedule.html",
        options,
        color=look.color,
        brand=look.brand,
        photo=look.photo,
        status=status,
        is_personal=True,
        path=managed.path,
        back=managed.path.removesuffix("/reschedule") + options.query,
        host_name=host.name,
        host_path=f"/{host.username}",
        event_type=event_type,
        facts=list_facts(event_type, host.name, locale),
        picked=picked,
        former=forms.show_start(managed.booking.starts_at, picked.zone, locale, hours),
        zone=show_zone(str(picked.zone), options, managed.work),
        guesses_zone=False,
        hours=hours,
        form=form or Form(),
        warnings=warnings,
    )


async def _show_cancel(managed: Managed, form: Form[forms.CancelForm], refusal: Refusal | None = None) -> Response:
    booking, options, event_type = managed.booking, managed.options, managed.details.event_type
    if not can_change(booking, now=managed.work.now):
        return redirect(managed.path.removesuffix("/cancel") + options.query)
    look = await find_look(managed.work, event_type.owner_id, color=event_type.color)
    dates = await list_series(managed.work, booking)
    shown = show(
        "booking/cancel.html",
        options,
        color=look.color,
        brand=look.brand,
        status=status_of(refusal) if refusal else 200,
        is_personal=True,
        path=managed.path,
        back=managed.path.removesuffix("/cancel") + options.query,
        host_name=managed.host.name,
        event_type=event_type,
        photo=None,
        picked=None,
        money=await paying.find_money(managed.work, rules.as_if_cancelled(booking, now=managed.work.now)),
        chosen=forms.show_start(booking.starts_at, get_zone(booking.invitee_zone), options.locale, hours_of(options)),
        form=form,
        to_come=sum(can_change(each, now=managed.work.now) for each in dates),
        warnings=list_warnings(refusal, True) if refusal else (),
    )
    return replace(shown, headers={**shown.headers, **headers_of(refusal)}) if refusal else shown
