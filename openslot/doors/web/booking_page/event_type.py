"""A host's page, and an event type's: choose a day, choose a time, fill in the form, book."""

from collections.abc import Callable
from uuid import UUID, uuid4

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.models import DEFAULT_COLOR, User
from openslot.domains.accounts.profiles.operations import photo_path
from openslot.domains.availability.errors import SlotUnavailable
from openslot.domains.availability.models import ByPage, ByTeamPage
from openslot.domains.availability.operations import get_slot_context
from openslot.domains.bookings.email_proofs import book_proven
from openslot.domains.bookings.errors import (
    EmailCodeNotSent,
    EmailVerificationRequired,
    InviteeLimitReached,
    PaymentUnavailable,
)
from openslot.domains.bookings.models import BookingWanted, EmailProof
from openslot.domains.bookings.public_api import booking_limit
from openslot.domains.bookings.series.operations import create_series
from openslot.domains.event_types.operations import get_page_of_host
from openslot.domains.event_types.rules import is_offered
from openslot.domains.mail.operations import sends_mail
from openslot.domains.payments.words import show_amount
from openslot.doors.http.doors import take
from openslot.doors.http.errors import headers_of, status_of
from openslot.doors.web.booking_page import forms, paying
from openslot.doors.web.booking_page.for_assistants import Format, choose_format, write_host, write_offer
from openslot.doors.web.booking_page.refusals import explain_closed, follow_former, limit_views, list_warnings
from openslot.doors.web.booking_page.sharing import preview_event_type, preview_host
from openslot.doors.web.shared.booking_forms import BookingForm, Picked, begin_form, pick_month, read_recurrence
from openslot.doors.web.shared.booking_view import (
    FRAMED,
    hours_of,
    manage_path,
    paying_policy,
    show,
    show_zone,
    zones_page,
)
from openslot.doors.web.shared.offers import list_facts
from openslot.doors.web.shared.options import (
    Options,
    carry_source,
    count_visit,
    find_source,
    read_minutes,
    read_options,
    read_start,
    with_minutes,
    with_zone,
)
from openslot.doors.web.shared.pages import redirect
from openslot.platform.core import markdown
from openslot.platform.core.actor import PUBLIC
from openslot.platform.core.errors import Invalid, RateLimited, Refusal
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Request, Response, get, post

DURATION_GONE = Text("The host does not offer this duration any more. Choose a duration and a time again")


NameOffer = Callable[[Options], ByPage | ByTeamPage]
"""Name the event type of a page, with what its address says."""


class PageContext(Struct, frozen=True, kw_only=True):
    """One request for an event type's page, on behalf of the public even if a host is signed in."""

    work: Work
    path: str
    address: str
    options: Options
    which: ByPage | ByTeamPage
    source: str | None
    """Where the visitor came from; None if a form does not say it."""

    @property
    def carried(self) -> Options:
        """The options with all that the next page is told."""
        return carry_source(self.options, self.source) if self.source else self.options


@get("/{username}/{slug}", is_public=True)
@limit_views
@follow_former
@explain_closed
async def show_event_type(work: Work, request: Request, username: str, slug: str) -> Response:
    """Show an event type of a host."""
    return await open_page(work, request, _name(username, slug))


async def open_page(work: Work, request: Request, name: NameOffer) -> Response:
    """Show the first month with its times, one chosen time with the form, or the list of zones."""
    context = _read_context(work, request, name)
    options = context.options
    if (wanted := choose_format(request)) is not Format.HTML:
        return await write_offer(context.work, request, context.which, wanted)
    if options.view == "zones":
        host_zone = (await get_slot_context(context.work, context.which)).host_zone
        return zones_page(work, context.carried, back=request.path, host_zone=host_zone)
    try:
        picked = await _pick(context)
    except Invalid:
        # The host does not offer this duration any more.
        return redirect(request.path + with_minutes(options, None).query)
    _count(context, request, picked)
    return _show(context, picked, status=200 if picked.is_open else 409)


async def _pick(context: PageContext) -> Picked:
    options = context.options
    if options.start is None:
        return await pick_month(context.work, context.which, options, wait_at=context.path)
    return await forms.pick_start(context.work, context.which, options, options.start)


@post("/{username}/{slug}", transaction="none")
@limit_views
@follow_former
@explain_closed
async def book(
    *, work: Work, request: Request, user: User | None, username: str, slug: str, form: Form[BookingForm]
) -> Response:
    """Book an event type of a host."""
    return await send_form(work, request, _name(username, slug), form, user)


async def send_form(
    work: Work, request: Request, name: NameOffer, form: Form[BookingForm], user: User | None
) -> Response:
    """Book what a form asks for, within the limit of the API; what was typed is shown again if that fails."""
    context = _read_context(work, request, name, form)
    if form[forms.TRAP]:
        form = form.with_faults({forms.TRAP: forms.TRAPPED})
    if form.faults:
        return await _ask_again(context, form, Invalid())
    try:
        target = await _book(context, form, EmailProof(user.email) if user else None)
    except (
        SlotUnavailable,
        RateLimited,
        Invalid,
        PaymentUnavailable,
        InviteeLimitReached,
        EmailVerificationRequired,
        paying.PriceChanged,
    ) as refusal:
        return await _ask_again(
            context,
            form.with_faults(
                forms.name_faults(refusal.faults, phone=forms.name_phone(form), place=forms.name_place(form))
            ),
            refusal,
        )
    return redirect(target)


def _name(username: str, slug: str) -> NameOffer:
    return lambda options: ByPage(username, slug, options.token, options.minutes)


def _read_context(work: Work, request: Request, name: NameOffer, form: Form[BookingForm] | None = None) -> PageContext:
    options = read_options(request)
    if form is not None and form["duration"]:
        options = with_minutes(options, read_minutes(form["duration"]))
    return PageContext(
        work=work.acting_as(PUBLIC),
        path=request.path,
        address=request.address,
        options=options,
        which=name(options),
        source=find_source(work, request, options) if form is None else forms.read_source(form),
    )


def _count(context: PageContext, request: Request, picked: Picked) -> None:
    found = picked.found
    event_type_id = found.inputs.event_type.id
    count_visit(
        context.work,
        request,
        context.options,
        username=found.host_username,
        zone=found.host_zone,
        event_type_id=event_type_id,
        # Visits of a team's own page belong to nobody: this one has the source of that one.
        source=context.source if isinstance(context.which, ByTeamPage) else None,
    )


async def _book(context: PageContext, form: Form[BookingForm], proof: EmailProof | None) -> str:
    """Book, and return where that leads: to the booking's page, or first to where it is paid, which can't be framed."""
    work = context.work
    await take(work.runtime, booking_limit(work.runtime.settings), context.address)
    wanted = replace(forms.read_wanted(context.which, form, context.options), email_proof=proof)
    recurrence = read_recurrence(form["weeks"], form["on_conflict"])
    sent = paying.SentForm(path=context.path, key=forms.read_id(form["key"]), seen_price=form["price"])

    async def book_once(wanted: BookingWanted) -> UUID:
        if recurrence is None:
            return await paying.book(work.runtime, wanted, sent)
        made = await work.runtime.run(PUBLIC, lambda own: create_series(own, wanted, recurrence))
        return made.bookings[0].id

    booking_id = await book_proven(work.runtime, wanted, book_once, from_address=context.address)
    checkout = await paying.find_checkout(work, booking_id)
    if checkout is not None and not context.options.is_embedded:
        return checkout
    return manage_path(work, booking_id, context.options, done="booked")


async def _ask_again(context: PageContext, form: Form[BookingForm], refusal: Refusal) -> Response:
    """Show the form with everything that was typed, and what is wrong with it or with its time."""
    start, status = read_start(form["start"]), status_of(refusal)
    if "duration" in form.faults:
        # The host does not offer this duration any more: the times of another one are chosen anew.
        options = with_minutes(context.options, None)
        context = replace(context, options=options, which=replace(context.which, minutes=None))
        start, form = None, form.with_faults({"start": DURATION_GONE})
    if start is None:
        picked = await pick_month(context.work, context.which, context.options, wait_at=context.path)
        return _show(context, picked, form=form, status=status, refused=refusal.code)
    options, own = with_zone(context.options, form["tz"]), forms.read_id(form["hold"])
    picked = await forms.pick_start(context.work, context.which, options, start, without=own)
    warnings = list_warnings(refusal, picked.is_open)
    was_sent = isinstance(refusal, EmailVerificationRequired) and not isinstance(refusal, EmailCodeNotSent)
    if was_sent and not sends_mail(context.work.runtime):
        warnings = (Text("This site sends no emails yet, so the code stays in its mailbox. Ask your host for it."),)
    shown = _show(context, picked, form=form, status=status, refused=refusal.code, warnings=warnings)
    return replace(shown, headers={**shown.headers, **headers_of(refusal)})


def _show(
    context: PageContext,
    picked: Picked,
    *,
    form: Form[BookingForm] | None = None,
    status: int = 200,
    refused: str | None = None,
    warnings: tuple[str, ...] = (),
) -> Response:
    found, options = picked.found, context.carried
    event_type = found.inputs.event_type
    form = form or begin_form(event_type, options)
    is_asked = refused == EmailVerificationRequired.code or "email_code" in form.values
    asks_code = event_type.requires_email_verification and is_asked
    return show(
        "booking/book.html",
        options,
        color=found.host_color or event_type.color,
        brand=found.host_brand,
        photo=photo_path(found.host_photo),
        status=status,
        path=context.path,
        host_name=found.host_name,
        host_path=f"/{found.host_username}",
        event_type=event_type,
        price=show_amount(event_type.price).localize(options.locale) if event_type.price else None,
        seen_price=paying.name_price(event_type.price, event_type.refund_policy),
        key=forms.read_id(form["key"]) or uuid4(),
        policy=paying_policy(context.work.runtime.settings) if event_type.price or event_type.redirect_url else FRAMED,
        preview=preview_event_type(context.work, event_type, found.host_name, found.host_username),
        facts=list_facts(event_type, found.host_name, options.locale),
        picked=picked,
        is_offered=is_offered(event_type),
        zone=show_zone(str(picked.zone), options, context.work),
        source=context.source or "",
        guesses_zone=options.zone is None,
        hours=hours_of(options),
        form=form,
        refused=refused,
        asks_code=asks_code,
        fields=forms.write_fields(
            form,
            picked,
            options.locale,
            keeps_mail=not sends_mail(context.work.runtime),
            asks_code=asks_code,
        ),
        warnings=warnings,
    )


@get("/{username}", is_public=True)
@limit_views
@follow_former
async def show_host(work: Work, request: Request, username: str) -> Response:
    if (wanted := choose_format(request)) is not Format.HTML:
        return await write_host(work, username, wanted)
    options = read_options(request)
    host = await get_page_of_host(work, username)
    count_visit(work, request, options, username=host.username, zone=host.zone)
    options = carry_source(options, find_source(work, request, options))
    color = host.event_types[0].color if host.event_types else DEFAULT_COLOR
    offers = [(each, list_facts(each, host.name, options.locale)) for each in host.event_types]
    return show(
        "booking/host.html",
        options,
        color=host.color or color,
        brand=host.brand,
        photo=photo_path(host.photo),
        host=host,
        text=markdown.render(host.welcome, shows_addresses=host.brand.is_new(now=work.now)) if host.welcome else None,
        preview=preview_host(work, host.name, host.username),
        offers=offers,
    )
