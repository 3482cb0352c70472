"""Pages: a new event type, and one that exists with all that can be set of it."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.event_types.accounts.operations import list_accounts
from openslot.domains.event_types.errors import EventTypeChanged, EventTypeNotFound, EventTypeSlugAlreadyExists
from openslot.domains.event_types.locations import MAX_LOCATIONS
from openslot.domains.event_types.models import (
    EventType,
    EventTypeOverview,
    Location,
    LocationAsks,
    LocationKind,
    PaymentAccount,
)
from openslot.domains.event_types.operations import (
    add_event_type,
    draft_event_type,
    edit_event_type,
    find_free_slug,
    get_event_type,
    get_event_type_overview,
)
from openslot.domains.event_types.ports import Conferences
from openslot.domains.event_types.rules import DETAILS, edition_of, find_changed, is_color, suggest_slug
from openslot.domains.schedules.errors import ScheduleNotFound
from openslot.domains.schedules.operations import get_schedule, list_schedules
from openslot.doors.http.doors import Exchange
from openslot.doors.web.dashboard.event_types import forms, locations
from openslot.doors.web.dashboard.event_types.embeds import WITH_FRAMES
from openslot.doors.web.dashboard.event_types.overview import find_closed, links_of, state_of
from openslot.doors.web.shared.curl import curl
from openslot.doors.web.shared.marks import EVENT_COLORS, find_color, pick_color
from openslot.doors.web.shared.pages import locale_of, page, redirect
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import SHAPE
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.i18n.localization import localize
from openslot.platform.routing import Form, Response, get, post

NOTICES = {
    "made": Text("The event type was created."),
    "saved": Text("Your changes were saved."),
    "restored": Text("It can be booked again."),
    "private": Text("It has a new private link. The earlier link, if there was one, no longer works."),
    "public": Text("Everyone can find and book it now."),
    "archive-only": Text("It has bookings, so it can't be deleted. Archive it instead."),
}
NO_SCHEDULE = Text("Choose one of your schedules")
GONE, NOT_CHOSEN = Text("The account is gone. Choose another one"), Text("Choose an account")
BEGINNINGS = ("start", "from")
FALLBACK, LONGEST_NAME = "meeting", 200
# So that nobody is surprised by a meeting that begins at once.
USUAL_NOTICE = 240


async def form_page(
    work: Work,
    user: User,
    template: str,
    form: Form[forms.EventTypeForm],
    *,
    focus: str = "",
    team_page: str | None = None,
    **values: Any,
) -> Response:
    """Show a form with all that it offers to choose from, and let the page frame the preview."""
    own = await list_schedules(work, user)
    services = await work.runtime.ports.get(Conferences).list_offered(work, user.id)
    typed = locations.list_typed(form.values)
    shown = page(
        template,
        user,
        here="/event-types",
        form=form,
        focus=focus,
        base=f"{work.runtime.settings.public_url}/{team_page or user.username}/",
        schedules={str(each.id): each.name for each in own},
        places=typed,
        place_kinds=locations.list_kinds(services, typed),
        max_places=MAX_LOCATIONS,
        makes_links=bool(services),
        colors=_list_colors(form["color"]),
        windows=forms.WINDOWS,
        units=forms.UNIT_NAMES,
        currencies={code: code for code in dict.fromkeys((*forms.CURRENCIES, form["currency"] or "EUR"))},
        refunds=forms.REFUNDS,
        accounts=name_accounts(await list_accounts(work, user.id), form),
        open_sections=[name for name, fields in forms.SECTIONS.items() if not form.faults.keys().isdisjoint(fields)],
        **values,
    )
    return replace(shown, headers={**shown.headers, "content-security-policy": WITH_FRAMES})


def _list_colors(chosen: str) -> list[tuple[str, str, Text]]:
    """List the colors to choose from, each with its class and name, and the one of its own that an event type has."""
    colors = [(name, value, label) for name, (label, value) in EVENT_COLORS.items()]
    is_own = is_color(chosen) and all(value != chosen for _, value, _ in colors)
    return [*colors, (find_color(chosen), chosen, Text("Own color"))] if is_own else colors


def name_accounts(accounts: list[PaymentAccount], form: Form[forms.EventTypeForm]) -> dict[str, Text]:
    """Name the accounts to choose from, and first what the event type names if that can't be paid to."""
    names = {
        str(each.id): Text("%(name)s (%(organization)s)", name=each.name, organization=each.organization)
        if each.organization
        else Text("%(name)s (your own)", name=each.name)
        for each in accounts
    }
    chosen = form["account"]
    if chosen in names or not (chosen or form["price"]):
        return names
    return {chosen: GONE if chosen else NOT_CHOSEN} | names


class ChangedField(Struct, frozen=True, kw_only=True):
    """A field that was changed elsewhere while a form was open."""

    name: Text
    is_ours: bool
    """Whether the form has changed it too, so that saving replaces the other change."""
    saved: str
    """The saved value, where a line says it."""


@get("/event-types/{event_type_id}")
async def show_event_type_form(work: Work, user: User, event_type_id: UUID) -> Response:
    found = await get_event_type_overview(work, user, event_type_id)
    values = {**forms.write_values(found.event_type), "edition": edition_of(found.event_type)}
    return await edit_page(work, user, found, Form(values=values))


@post("/event-types/{event_type_id}")
async def save_event_type(work: Work, user: User, event_type_id: UUID, form: Form[forms.EventTypeForm]) -> Response:
    """Save an event type, or change the locations of the form without saving it."""
    found = await get_event_type_overview(work, user, event_type_id)
    if form["act"]:
        values, focus = locations.change_locations(form.values, form["act"])
        return await edit_page(work, user, found, Form(values=values), focus=focus)
    if not form.faults:
        edited, faults = forms.read_event_type(form.get(), found.event_type)
        faults |= {} if form.get().slug.strip() else {"slug": Text("Enter the last part of the link")}
        form = form.with_faults(faults)
        if not faults:
            return await _save(work, user, edited, form)
    return await edit_page(work, user, found, form)


async def _save(work: Work, user: User, edited: EventType, form: Form[forms.EventTypeForm]) -> Response:
    try:
        async with work.attempt():
            await edit_event_type(work, user, edited, edition=form["edition"], fields=DETAILS)
    except EventTypeChanged:
        return await _show_changed(work, user, edited, form)
    except (EventTypeSlugAlreadyExists, Invalid) as refusal:
        form = form.with_faults(forms.name_faults(refusal.faults, form.get()))
    except ScheduleNotFound:
        form = form.with_faults({"schedule": NO_SCHEDULE})
    if form.faults:
        found = await get_event_type_overview(work, user, edited.id)
        return await edit_page(work, user, found, form)
    return redirect(f"/event-types/{edited.id}?done=saved")


async def _show_changed(work: Work, user: User, edited: EventType, form: Form[forms.EventTypeForm]) -> Response:
    """Show the form with what was typed; fields that were only changed elsewhere take that change over."""
    found = await get_event_type_overview(work, user, edited.id)
    elsewhere = find_changed(found.event_type, since=form["edition"], fields=DETAILS)
    ours = set(find_changed(edited, since=form["edition"], fields=DETAILS))
    saved, values = forms.write_values(found.event_type), dict(form.values)
    for field in elsewhere:
        if field not in ours:
            values = _take(values, saved, forms.EDITED_FIELDS[field][1])
    values["edition"] = edition_of(found.event_type)
    changed = list(_list_changed(elsewhere, ours=ours, edited=edited, current=found.event_type, saved=saved))
    return await edit_page(work, user, found, Form(values=values), changed=changed)


def _list_changed(
    elsewhere: tuple[str, ...], *, ours: set[str], edited: EventType, current: EventType, saved: Mapping[str, str]
) -> Iterator[ChangedField]:
    for field in elsewhere:
        # The default is the first of the locations.
        is_told = field == "locations" and "location" in elsewhere
        if is_told or getattr(edited, field) == getattr(current, field):
            continue
        name, fields = forms.EDITED_FIELDS[field]
        line = saved.get(fields[0], "") if len(fields) == 1 and field != "schedule_id" else ""
        yield ChangedField(name=name, is_ours=field in ours, saved=line[:100])


def _take(values: Mapping[str, str], saved: Mapping[str, str], fields: tuple[str, ...]) -> dict[str, str]:
    kept = {name: text for name, text in values.items() if name.partition(".")[0] not in fields}
    return kept | {name: text for name, text in saved.items() if name.partition(".")[0] in fields}


async def edit_page(
    work: Work,
    user: User,
    found: EventTypeOverview,
    form: Form[forms.EventTypeForm],
    *,
    focus: str = "",
    changed: list[ChangedField] | None = None,
) -> Response:
    """Show the form of an event type beside its preview, and what else can be done with it."""
    event_type, (state, tone) = found.event_type, state_of(found.event_type)
    path = f"/event-types/{event_type.id}"
    return await form_page(
        work,
        user,
        "dashboard/event_types/edit.html",
        form,
        status=409 if changed is not None else None,
        focus=focus,
        team_page=found.team_page,
        changed=changed,
        event_type=event_type,
        upcoming=found.upcoming,
        was_booked=found.was_booked,
        state=state,
        tone=tone,
        closed=find_closed(event_type),
        links=links_of(work, user, found),
        notices=NOTICES,
        path=path,
        is_new=False,
        preview=f"{path}/preview",
        first_preview=f"{path}/preview",
        curl=curl(work, user, path),
    )


class StartingPoint(Struct, frozen=True, kw_only=True):
    key: str
    icon: str
    title: Text
    about: Text
    name: Text
    changes: dict[str, object]


STARTING_POINTS = (
    StartingPoint(
        key="one-to-one",
        icon="chat",
        title=Text("One-to-one"),
        about=Text("One person books a time with you, such as an intro call or an interview."),
        name=Text("30 minute meeting"),
        changes={"duration_minutes": 30},
    ),
    StartingPoint(
        key="phone",
        icon="phone",
        title=Text("Phone call"),
        about=Text("You call the person who books. The form asks for their number."),
        name=Text("Phone call"),
        changes={"duration_minutes": 15, "location": Location(LocationKind.PHONE, asks=LocationAsks.PHONE)},
    ),
    StartingPoint(
        key="group",
        icon="people",
        title=Text("Group"),
        about=Text("Several people book the same time, such as a workshop or a class."),
        name=Text("Group session"),
        changes={"duration_minutes": 60, "seats": 10},
    ),
    StartingPoint(
        key="long",
        icon="clock",
        title=Text("Long session"),
        about=Text("Two hours, booked at least a day ahead, with free time before and after."),
        name=Text("Long session"),
        changes={"duration_minutes": 120, "buffer_before": 15, "buffer_after": 15, "min_notice_minutes": 1440},
    ),
)


@get("/event-types/new")
async def show_new_event_type(request: Exchange, work: Work, user: User) -> Response:
    """Show the starting points, or the form that one of them or another event type begins."""
    base = await find_beginning(request, work, user)
    if base is None:
        own = await list_schedules(work, user)
        return page(
            "dashboard/event_types/start.html",
            user,
            here="/event-types",
            starting_points=STARTING_POINTS,
            has_schedule=bool(own),
        )
    return await _show(request, work, user, Form(values={**forms.write_values(base), "slug": ""}))


@post("/event-types")
async def create_event_type(request: Exchange, work: Work, user: User, form: Form[forms.EventTypeForm]) -> Response:
    """Create an event type with what its form says and with the questions of what it begins with."""
    if form["act"]:
        values, focus = locations.change_locations(form.values, form["act"])
        return await _show(request, work, user, Form(values=values), focus=focus)
    if form.faults:
        return await _show(request, work, user, form)
    sent = form.get()
    try:
        schedule = await get_schedule(work, user, sent.schedule)
    except ScheduleNotFound:
        return await _show(request, work, user, form.with_faults({"schedule": NO_SCHEDULE}))
    free = await find_free_slug(work, user, suggest_slug(sent.name) or FALLBACK)
    begun = await find_beginning(request, work, user)
    blank = draft_event_type(work, schedule, name=sent.name, slug=free, duration_minutes=sent.duration)
    blank = replace(blank, questions=begun.questions if begun else ())
    wanted, faults = forms.read_event_type(sent, blank)
    if faults:
        return await _show(request, work, user, form.with_faults(faults))
    try:
        async with work.attempt():
            made = await add_event_type(work, schedule, replace(wanted, is_private=sent.private))
    except (EventTypeSlugAlreadyExists, Invalid) as refusal:
        return await _show(request, work, user, form.with_faults(forms.name_faults(refusal.faults, sent)))
    return redirect(f"/event-types/{made.id}?done=made")


async def find_beginning(request: Exchange, work: Work, user: User) -> EventType | None:
    """Find what the address says that a new event type begins with, or None."""
    original = request.query.get("from", "")
    if original:
        if not SHAPE.fullmatch(original):
            raise EventTypeNotFound
        found = await get_event_type(work, user, UUID(original))
        name = Text("%(name)s (copy)", name=found.name)
        return replace(found, name=str(localize(name, locale_of(request)))[:LONGEST_NAME])
    point = next((each for each in STARTING_POINTS if each.key == request.query.get("start")), None)
    return await _begin(request, work, user, point) if point else None


async def _begin(request: Exchange, work: Work, user: User, point: StartingPoint) -> EventType | None:
    own = await list_schedules(work, user)
    if not own:
        return None
    name = str(localize(point.name, locale_of(request)))
    blank = draft_event_type(work, own[0], name=name, slug=suggest_slug(name) or FALLBACK, duration_minutes=30)
    color = pick_color(request.entry.event_colors)
    return replace(blank, **{"min_notice_minutes": USUAL_NOTICE, "color": color, **point.changes})


async def _show(
    request: Exchange, work: Work, user: User, form: Form[forms.EventTypeForm], *, focus: str = ""
) -> Response:
    query = urlencode([(name, request.query[name]) for name in BEGINNINGS if name in request.query])
    return await form_page(
        work,
        user,
        "dashboard/event_types/new.html",
        form,
        focus=focus,
        is_new=True,
        path=f"/event-types?{query}" if query else "/event-types",
        preview=f"/event-types/new/preview?{query}",
        first_preview=f"/event-types/new/preview?{query}",
    )
