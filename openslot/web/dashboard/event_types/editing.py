"""Pages: one event type, with all that can be set of it."""

from collections.abc import Iterator, Mapping
from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.core.errors import Invalid
from openslot.core.work import Work
from openslot.event_types import operations as event_types
from openslot.event_types import overview
from openslot.event_types.editions import edition_of, find_changed
from openslot.event_types.errors import EventTypeChanged, EventTypeSlugTaken
from openslot.event_types.models import EventType, EventTypeOverview
from openslot.i18n import Text
from openslot.routing import Form, Request, Response, get, post
from openslot.schedules.errors import ScheduleNotFound
from openslot.web.dashboard.curl import curl
from openslot.web.dashboard.event_types.choices import EDITED_FIELDS
from openslot.web.dashboard.event_types.embedding import EMBED_CHOICES, list_snippets, read_embed
from openslot.web.dashboard.event_types.form_page import begin_values, form_page
from openslot.web.dashboard.event_types.forms import EventTypeForm, name_faults, read_event_type, write_values
from openslot.web.dashboard.event_types.links import links_of, state_of
from openslot.web.dashboard.event_types.questions import change_questions
from openslot.web.pages import redirect

NOTICES = {
    "made": Text("The event type was created."),
    "saved": Text("Your changes were saved."),
    "restored": Text("It can be booked again."),
    "private": Text("It has a new private link. The earlier link, if there was one, no longer works."),
    "public": Text("It is on your page now."),
    "archive-only": Text("It has bookings, so it can't be deleted. Archive it instead."),
}
NO_SLUG = Text("Enter the last part of the link")
NO_SCHEDULE = Text("Choose one of your schedules")


class ChangedField(Struct, frozen=True, kw_only=True):
    """A field that was changed elsewhere while a form was open."""

    name: Text
    is_ours: bool
    """Whether the form has changed it too, so that saving replaces the other change."""
    saved: str
    """What is saved now, where a line says it."""


@get("/event-types/{event_type_id}")
async def show_event_type_form(request: Request, work: Work, user: User, event_type_id: UUID) -> Response:
    """Show the form of an event type."""
    found = await overview.get_overview(work, user, event_type_id)
    return await edit_page(work, user, found, Form(values=begin_values(found.event_type)), request=request)


@post("/event-types/{event_type_id}")
async def save_event_type(
    request: Request, work: Work, user: User, event_type_id: UUID, form: Form[EventTypeForm]
) -> Response:
    """Save an event type, or change the questions of the form without saving it."""
    found = await overview.get_overview(work, user, event_type_id)
    if form["act"]:
        values, focus = change_questions(form.values, form["act"])
        return await edit_page(work, user, found, Form(values=values), request=request, focus=focus)
    if not form.faults:
        edited, faults = read_event_type(form.get(), found.event_type)
        faults |= {} if form.get().slug.strip() else {"slug": NO_SLUG}
        form = form.with_faults(faults)
        if not faults:
            return await _save(request, work, user, edited, form)
    return await edit_page(work, user, found, form, request=request)


async def _save(request: Request, work: Work, user: User, edited: EventType, form: Form[EventTypeForm]) -> Response:
    try:
        async with work.attempt():
            await event_types.edit_event_type(work, user, edited, edition=form["edition"])
    except EventTypeChanged:
        return await _show_changed(request, work, user, edited, form)
    except (EventTypeSlugTaken, Invalid) as refusal:
        form = form.with_faults(name_faults(refusal.faults))
    except ScheduleNotFound:
        form = form.with_faults({"schedule": NO_SCHEDULE})
    if form.faults:
        found = await overview.get_overview(work, user, edited.id)
        return await edit_page(work, user, found, form, request=request)
    return redirect(f"/event-types/{edited.id}?done=saved")


async def _show_changed(
    request: Request, work: Work, user: User, edited: EventType, form: Form[EventTypeForm]
) -> Response:
    """Show the form with what was typed; fields that were only changed elsewhere take that change over."""
    found = await overview.get_overview(work, user, edited.id)
    elsewhere = find_changed(found.event_type, since=form["edition"])
    ours = set(find_changed(edited, since=form["edition"]))
    saved, values = write_values(found.event_type), dict(form.values)
    for field in elsewhere:
        if field not in ours:
            values = _take(values, saved, EDITED_FIELDS[field].fields)
    values["edition"] = edition_of(found.event_type)
    changed = list(_list_changed(elsewhere, ours=ours, edited=edited, current=found.event_type, saved=saved))
    return await edit_page(work, user, found, Form(values=values), request=request, changed=changed)


def _list_changed(
    elsewhere: tuple[str, ...], *, ours: set[str], edited: EventType, current: EventType, saved: Mapping[str, str]
) -> Iterator[ChangedField]:
    for field in elsewhere:
        if getattr(edited, field) == getattr(current, field):
            continue
        fields = EDITED_FIELDS[field].fields
        line = saved.get(fields[0], "") if len(fields) == 1 and field != "schedule_id" else ""
        yield ChangedField(name=EDITED_FIELDS[field].name, is_ours=field in ours, saved=line[:100])


def _take(values: Mapping[str, str], saved: Mapping[str, str], fields: tuple[str, ...]) -> dict[str, str]:
    def belongs(name: str) -> bool:
        return name in fields or (fields == ("questions",) and name.startswith("questions."))

    kept = {name: text for name, text in values.items() if not belongs(name)}
    return kept | {name: text for name, text in saved.items() if belongs(name)}


async def edit_page(
    work: Work,
    user: User,
    found: EventTypeOverview,
    form: Form[EventTypeForm],
    *,
    request: Request,
    focus: str = "",
    changed: list[ChangedField] | None = None,
) -> Response:
    """Show the form of an event type beside its preview, and what else can be done with it."""
    event_type, (state, tone) = found.event_type, state_of(found.event_type)
    path = f"/event-types/{event_type.id}"
    embed = read_embed(request)
    return await form_page(
        work,
        user,
        "dashboard/event_types/edit.html",
        form,
        status=409 if changed is not None else 400 if form.faults else 200,
        focus=focus,
        changed=changed,
        event_type=event_type,
        upcoming=found.upcoming,
        was_booked=found.was_booked,
        state=state,
        tone=tone,
        links=links_of(work, user, found),
        embed=embed,
        snippets=list_snippets(work, user, found, embed),
        embed_choices=EMBED_CHOICES,
        notice=NOTICES.get(request.query.get("done", "")) if request.method == "GET" else None,
        path=path,
        is_new=False,
        preview=f"{path}/preview",
        first_preview=f"{path}/preview",
        curl=curl(work, user, path),
    )
