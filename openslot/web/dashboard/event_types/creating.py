"""Pages: a new event type, from a starting point or from one that exists."""

from urllib.parse import urlencode
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.accounts.models import User
from openslot.core.errors import Invalid
from openslot.core.ids import SHAPE
from openslot.core.work import Work
from openslot.event_types import operations as event_types
from openslot.event_types.errors import EventTypeNotFound, EventTypeSlugTaken
from openslot.event_types.models import EventType, Location, LocationKind, Question, QuestionKind
from openslot.event_types.rules import suggest_slug
from openslot.i18n import Text
from openslot.i18n.localization import localize
from openslot.routing import Form, Request, Response, get, post
from openslot.schedules import operations as schedules
from openslot.schedules.errors import ScheduleNotFound
from openslot.web.dashboard.event_types.editing import NO_SCHEDULE
from openslot.web.dashboard.event_types.form_page import form_page
from openslot.web.dashboard.event_types.forms import EventTypeForm, name_faults, read_event_type, write_values
from openslot.web.dashboard.event_types.questions import change_questions
from openslot.web.pages import locale_of, page, redirect

BEGINNINGS = ("start", "from")
FALLBACK, LONGEST_NAME = "meeting", 200


PHONE_NUMBER = Text("Your phone number")


class StartingPoint(Struct, frozen=True, kw_only=True):
    """What a new event type can begin with."""

    key: str
    title: Text
    about: Text
    name: Text
    changes: dict[str, object]


STARTING_POINTS = (
    StartingPoint(
        key="one-to-one",
        title=Text("One-to-one"),
        about=Text("One person books a time with you, such as an intro call or an interview."),
        name=Text("30 minute meeting"),
        changes={"duration_minutes": 30},
    ),
    StartingPoint(
        key="phone",
        title=Text("Phone call"),
        about=Text("You call the person who books. The form asks for their number."),
        name=Text("Phone call"),
        changes={"duration_minutes": 15, "location": Location(LocationKind.PHONE)},
    ),
    StartingPoint(
        key="group",
        title=Text("Group"),
        about=Text("Several people book the same time, such as a workshop or a class."),
        name=Text("Group session"),
        changes={"duration_minutes": 60, "seats": 10},
    ),
    StartingPoint(
        key="long",
        title=Text("Long session"),
        about=Text("Two hours, booked at least a day ahead, with free time before and after."),
        name=Text("Long session"),
        changes={"duration_minutes": 120, "buffer_before": 15, "buffer_after": 15, "min_notice_minutes": 1440},
    ),
)


@get("/event-types/new")
async def show_new_event_type(request: Request, work: Work, user: User) -> Response:
    """Show the starting points, or the form that one of them or another event type begins."""
    base = await find_beginning(request, work, user)
    if base is None:
        own = await schedules.list_schedules(work, user)
        return page(
            "dashboard/event_types/start.html",
            user,
            here="/event-types",
            starting_points=STARTING_POINTS,
            has_schedule=bool(own),
        )
    return await _show(request, work, user, Form(values={**write_values(base), "slug": ""}))


@post("/event-types")
async def create_event_type(request: Request, work: Work, user: User, form: Form[EventTypeForm]) -> Response:
    """Create an event type, or change the questions of the form without creating one."""
    if form["act"]:
        values, focus = change_questions(form.values, form["act"])
        return await _show(request, work, user, Form(values=values), focus=focus)
    if form.faults:
        return await _show(request, work, user, form)
    sent = form.get()
    try:
        schedule = await schedules.get_schedule(work, user, sent.schedule)
    except ScheduleNotFound:
        return await _show(request, work, user, form.with_faults({"schedule": NO_SCHEDULE}))
    free = await event_types.find_free_slug(work, user, suggest_slug(sent.name) or FALLBACK)
    blank = event_types.draft(work, schedule, name=sent.name, slug=free, duration_minutes=sent.duration)
    wanted, faults = read_event_type(sent, blank)
    if faults:
        return await _show(request, work, user, form.with_faults(faults))
    try:
        async with work.attempt():
            made = await event_types.add_event_type(work, schedule, replace(wanted, is_private=sent.private))
    except (EventTypeSlugTaken, Invalid) as refusal:
        return await _show(request, work, user, form.with_faults(name_faults(refusal.faults)))
    return redirect(f"/event-types/{made.id}?done=made")


async def find_beginning(request: Request, work: Work, user: User) -> EventType | None:
    """Find what the address says that a new event type begins with, or None."""
    original = request.query.get("from", "")
    if original:
        if not SHAPE.fullmatch(original):
            raise EventTypeNotFound
        found = await event_types.get_event_type(work, user, UUID(original))
        name = Text("%(name)s (copy)", name=found.name)
        return replace(found, name=str(localize(name, locale_of(request)))[:LONGEST_NAME])
    point = next((each for each in STARTING_POINTS if each.key == request.query.get("start")), None)
    return await _begin(request, work, user, point) if point else None


async def _begin(request: Request, work: Work, user: User, point: StartingPoint) -> EventType | None:
    own = await schedules.list_schedules(work, user)
    if not own:
        return None
    locale = locale_of(request)
    name = str(localize(point.name, locale))
    blank = event_types.draft(work, own[0], name=name, slug=suggest_slug(name) or FALLBACK, duration_minutes=30)
    begun = replace(blank, **point.changes)
    if begun.location.kind is not LocationKind.PHONE:
        return begun
    label = str(localize(PHONE_NUMBER, locale))
    return replace(begun, questions=(Question("phone", label, QuestionKind.PHONE, required=True),))


async def _show(request: Request, work: Work, user: User, form: Form[EventTypeForm], *, focus: str = "") -> Response:
    query = urlencode([(name, request.query[name]) for name in BEGINNINGS if name in request.query])
    return await form_page(
        work,
        user,
        "dashboard/event_types/new.html",
        form,
        status=400 if form.faults else 200,
        focus=focus,
        is_new=True,
        path=f"/event-types?{query}" if query else "/event-types",
        preview="/event-types/new/preview",
        first_preview=f"/event-types/new/preview?{query}",
    )
