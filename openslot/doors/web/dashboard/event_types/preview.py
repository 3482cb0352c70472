"""The preview of an event type: its booking page as it would be if the form were saved, which can't be booked."""

from collections.abc import Callable, Mapping
from typing import TypeVar
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import Drafted
from openslot.domains.event_types.accounts.operations import list_accounts
from openslot.domains.event_types.models import EventType
from openslot.domains.event_types.operations import draft_event_type, get_event_type
from openslot.domains.event_types.rules import is_offered
from openslot.domains.schedules.errors import ScheduleNotFound
from openslot.domains.schedules.operations import list_schedules
from openslot.doors.http.doors import Exchange, take_own
from openslot.doors.http.errors import headers_of, status_of
from openslot.doors.http.forms import read_values
from openslot.doors.http.security import PAGE_POLICY
from openslot.doors.web.dashboard.event_types.editor import FALLBACK, find_beginning
from openslot.doors.web.dashboard.event_types.forms import EventTypeForm, read_event_type, write_values
from openslot.doors.web.dashboard.event_types.questions import QuestionsForm, describe_questions
from openslot.doors.web.shared import words
from openslot.doors.web.shared.booking_forms import begin_form, pick_month
from openslot.doors.web.shared.booking_view import find_look, hours_of, show, show_zone
from openslot.doors.web.shared.offers import list_facts, list_locations
from openslot.doors.web.shared.options import Options
from openslot.doors.web.shared.pages import locale_of, page
from openslot.platform.core.errors import RateLimited
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.i18n.localization import localize
from openslot.platform.routing import Form, RateLimit, Request, Response, get, post

F = TypeVar("F", bound=Struct)
# Fields that make sense only together.
TOGETHER = (
    ("window", "window_days", "window_from", "window_to"),
    ("notice", "notice_unit"),
    ("price", "currency"),
    ("refund", "refund_hours"),
)
TRIES = 5
# Each computes a month of slots; a fast typist requests two per second.
PREVIEWS = RateLimit("previews", 120)
# Only pages of our own show it, in a frame in which no script runs and no form is sent.
FRAMED_BY_US = PAGE_POLICY.replace(b"frame-ancestors 'none'", b"frame-ancestors 'self'").decode()


@get("/event-types/{event_type_id}/preview")
async def show_saved_preview(request: Request, work: Work, user: User, event_type_id: UUID) -> Response:
    return await _show(request, work, user, await get_event_type(work, user, event_type_id))


@post("/event-types/{event_type_id}/preview", transaction="none")
async def preview_changes(
    request: Request, work: Work, user: User, event_type_id: UUID, form: Form[EventTypeForm]
) -> Response:
    """Show an event type as a form describes it, and save nothing."""
    saved = await get_event_type(work, user, event_type_id)
    return await _show(request, work, user, read_leniently(form, saved))


@post("/event-types/{event_type_id}/questions/preview", transaction="none")
async def preview_questions(
    request: Request, work: Work, user: User, event_type_id: UUID, form: Form[QuestionsForm]
) -> Response:
    """Show an event type with the questions of a form, without those that have faults, and save nothing."""
    saved = await get_event_type(work, user, event_type_id)
    described = _read(form, QuestionsForm, lambda sent: describe_questions(sent, saved), _leave_out)
    return await _show(request, work, user, described or saved)


@get("/event-types/new/preview")
async def show_new_preview(request: Exchange, work: Work, user: User) -> Response:
    return await _show(request, work, user, await _begin(request, work, user))


@post("/event-types/new/preview", transaction="none")
async def preview_new(request: Exchange, work: Work, user: User, form: Form[EventTypeForm]) -> Response:
    """Show a new event type as a form describes it, and create nothing."""
    return await _show(request, work, user, read_leniently(form, await _begin(request, work, user)))


def read_leniently(form: Form[EventTypeForm], base: EventType) -> EventType:
    """Read what a form describes; a field with a fault is taken from the base."""
    saved = write_values(base)

    def mend(values: Mapping[str, str], faults: Mapping[str, str]) -> dict[str, str]:
        wrong = set(faults)
        if any(name.startswith("locations") for name in wrong):
            values = {name: text for name, text in values.items() if not name.startswith("locations.")}
            wrong |= {name for name in saved if name.startswith("locations.")}
        for group in TOGETHER:
            wrong |= set(group) if not wrong.isdisjoint(group) else set()
        return {**values, **{name: saved.get(name, "") for name in wrong}}

    return _read(form, EventTypeForm, lambda sent: read_event_type(sent, base), mend) or base


def _read(
    form: Form[F],
    kind: type[F],
    describe: Callable[[F], tuple[EventType, dict[str, str]]],
    mend: Callable[[Mapping[str, str], Mapping[str, str]], dict[str, str]],
) -> EventType | None:
    # What the form finds wrong is mended first; then the domain can look at the rest.
    for _ in range(TRIES):
        if form.faults:
            form = read_values(mend(form.values, form.faults), kind)
            continue
        described, faults = describe(form.get())
        if not faults:
            return described
        form = form.with_faults(faults)
    return None


def _leave_out(values: Mapping[str, str], faults: Mapping[str, str]) -> dict[str, str]:
    """Leave out the questions that have faults, or all of them if they are too many."""
    if "questions" in faults:
        return {}
    wrong = {name.rpartition(".")[0] for name in faults}
    return {name: text for name, text in values.items() if name.rpartition(".")[0] not in wrong}


async def _begin(request: Exchange, work: Work, user: User) -> EventType:
    begun = await find_beginning(request, work, user)
    if begun is not None:
        return begun
    own = await list_schedules(work, user)
    if not own:
        raise ScheduleNotFound
    name = str(localize(Text("New event type"), locale_of(request)))
    return draft_event_type(work, own[0], name=name, slug=FALLBACK, duration_minutes=30)


async def _show(request: Request, work: Work, user: User, event_type: EventType) -> Response:
    try:
        await take_own(work.runtime, PREVIEWS, user.id)
    except RateLimited as refusal:
        wait = words.wait(refusal.retry_after)
        shown = page("dashboard/event_types/wait.html", user, status=status_of(refusal), wait=wait)
        headers = {**shown.headers, **headers_of(refusal), "content-security-policy": FRAMED_BY_US}
        return replace(shown, headers=headers)
    options = Options(locale=locale_of(request))
    if event_type.price is not None:
        # What was read or drafted may have had no price yet.
        accounts = {each.id for each in await list_accounts(work, user.id)}
        named = event_type.payment_connection_id
        event_type = replace(event_type, accepts_payments=named in accounts if named else bool(accounts))
    picked = await pick_month(work, Drafted(event_type), options)
    look = await find_look(work, user.id, color=event_type.color)
    shown = show(
        "dashboard/event_types/preview.html",
        options,
        color=look.color,
        brand=look.brand,
        photo=look.photo,
        is_personal=True,
        path="",
        host_name=user.name,
        host_path="",
        event_type=event_type,
        facts=list_facts(event_type, user.name, options.locale),
        picked=picked,
        is_offered=is_offered(event_type),
        zone=show_zone(str(picked.zone), options, work),
        guesses_zone=False,
        hours=hours_of(options),
        form=begin_form(event_type, options),
        asked={"places": list_locations(event_type, user.name)},
    )
    return replace(shown, headers={**shown.headers, "content-security-policy": FRAMED_BY_US})
