"""Pages: the weekly hours of a schedule, and dates with hours of their own."""

import re
from collections.abc import Mapping
from datetime import date
from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.core.errors import Conflict, Invalid
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.routing import Form, Request, Response, get, post
from openslot.schedules import operations as changes
from openslot.schedules import operations as schedules
from openslot.schedules.errors import OverrideNotFound
from openslot.schedules.models import DateOverride, Schedule
from openslot.schedules.rules import MAX_RANGES_A_DAY, find_override, version_of
from openslot.web import words
from openslot.web.dashboard.availability.range_fields import (
    DayFields,
    Typed,
    fill_day,
    fill_week,
    read_typed,
    week_of,
    write_hours,
)
from openslot.web.dashboard.availability.schedules import schedule_page
from openslot.web.list_queries import NOT_A_DATE, read_day
from openslot.web.pages import page, redirect
from openslot.web.words import Weekday

DAYS = range(7)
NOT_SAVED = Text("Not saved yet. Save the hours when they are right.")
WRONG = Text("Nothing was saved. Correct the marked fields.")
NO_DAYS = Text("Nothing was copied. Choose the days to copy to.")

_ACT = re.compile(r"(add|remove) ([0-6])(?:\.(\d{1,3}))?", re.ASCII)
NO_HOURS = Text("Enter hours, or choose “Closed”")
OPEN, CLOSED = "open", "closed"


class WeeklyHoursForm(Struct, frozen=True, kw_only=True):
    """What to do, and which version of the hours was shown; the hours themselves are read by their fields' names."""

    act: str = "save"
    version: str = ""
    copy_from: str = ""


@post("/availability/{schedule_id}/hours")
async def change_weekly_hours(work: Work, user: User, schedule_id: UUID, form: Form[WeeklyHoursForm]) -> Response:
    """Save the weekly hours, or show them again with a range or a day changed."""
    typed = [read_typed(form.values, f"d{day}") for day in DAYS]
    if form["act"] not in {"", "save"}:
        unsaved = _edit(typed, form.values)
        return await schedule_page(work, user, schedule_id, week=fill_week(typed), unsaved=unsaved)
    week = fill_week([[pair for pair in pairs if any(pair)] for pairs in typed])
    if any(day.has_faults for day in week):
        return await schedule_page(work, user, schedule_id, week=week, refusal=WRONG, status=400)
    try:
        await changes.change_hours(work, user, schedule_id, week_of(week), version=form["version"])
    except Invalid as refusal:
        said = next(iter(refusal.faults.values()))
        return await schedule_page(work, user, schedule_id, week=week, refusal=said, status=400)
    except Conflict as refusal:
        return await schedule_page(work, user, schedule_id, week=week, refusal=refusal.sentence, status=409)
    return redirect(f"/availability/{schedule_id}?done=hours")


def _edit(typed: list[list[Typed]], values: Mapping[str, str]) -> Text:
    """Add or remove a range, or copy a day to others, in what was typed."""
    act = values.get("act", "")
    if act == "copy":
        return _copy(typed, values)
    found = _ACT.fullmatch(act)
    if found and found[1] == "add" and len(typed[int(found[2])]) < MAX_RANGES_A_DAY:
        typed[int(found[2])].append(("", ""))
    if found and found[1] == "remove" and found[3]:
        day, place = typed[int(found[2])], int(found[3])
        typed[int(found[2])] = [pair for index, pair in enumerate(day) if index != place]
    return NOT_SAVED


def _copy(typed: list[list[Typed]], values: Mapping[str, str]) -> Text:
    source = values.get("copy_from", "")
    targets = [day for day in DAYS if f"copy_to.{day}" in values]
    if source not in {str(day) for day in DAYS} or not targets:
        return NO_DAYS
    for day in targets:
        typed[day] = list(typed[int(source)])
    return NOT_SAVED


class OverrideForm(Struct, frozen=True, kw_only=True):
    """Which dates, and whether they are closed; the hours are read by their fields' names."""

    first: str = ""
    last: str = ""
    kind: str = OPEN
    version: str = ""
    act: str = "save"


@get("/availability/{schedule_id}/days/new")
async def show_new_override(request: Request, work: Work, user: User, schedule_id: UUID) -> Response:
    """Show the form for some dates; a date in the address starts with the hours of its weekday."""
    schedule = await schedules.get_schedule(work, user, schedule_id)
    on = read_day(request.query.get("day", ""))
    hours = schedule.weekly_hours[on.weekday()] if on else ()
    form: Form[OverrideForm] = Form(values={"first": on.isoformat() if on else "", "kind": OPEN})
    return _show(user, schedule, form, fill_day("d", write_hours(hours) or [("", "")]))


@post("/availability/{schedule_id}/days")
async def add_overrides(work: Work, user: User, schedule_id: UUID, form: Form[OverrideForm]) -> Response:
    """Give some dates hours of their own, or close them."""
    typed = read_typed(form.values, "d")
    day, faults = _read_hours(form, typed)
    first, last = read_day(form["first"]), read_day(form["last"] or form["first"])
    faults |= {name: NOT_A_DATE for name, on in (("first", first), ("last", last)) if on is None}
    if form["act"] == "add" or faults or day.has_faults or first is None or last is None:
        schedule = await schedules.get_schedule(work, user, schedule_id)
        return _again(user, schedule, form, typed, faults)
    hours = () if form["kind"] == CLOSED else day.hours
    try:
        await changes.add_overrides(work, user, schedule_id, first=first, last=last, hours=hours)
    except Invalid as refusal:
        faults = {name if name in {"first", "last"} else "form": fault for name, fault in refusal.faults.items()}
    except Conflict as refusal:
        faults = {"first": refusal.sentence}
    if faults:
        return _again(user, await schedules.get_schedule(work, user, schedule_id), form, typed, faults)
    return redirect(f"/availability/{schedule_id}?done=days&from={first}&to={last}#dates")


@get("/availability/{schedule_id}/days/{day}")
async def show_override(work: Work, user: User, schedule_id: UUID, day: str) -> Response:
    """Show the form for one date that has hours of its own."""
    schedule = await schedules.get_schedule(work, user, schedule_id)
    override = _get_override(schedule, day)
    form: Form[OverrideForm] = Form(values={"kind": OPEN if override.hours else CLOSED})
    return _show(
        user, schedule, form, fill_day("d", write_hours(override.hours) or [("", "")]), work=work, override=override
    )


@post("/availability/{schedule_id}/days/{day}")
async def change_override(work: Work, user: User, schedule_id: UUID, day: str, form: Form[OverrideForm]) -> Response:
    schedule = await schedules.get_schedule(work, user, schedule_id)
    override, typed = _get_override(schedule, day), read_typed(form.values, "d")
    fields, faults = _read_hours(form, typed)
    if form["act"] == "add" or faults or fields.has_faults:
        return _again(user, schedule, form, typed, faults, work=work, override=override)
    wanted = DateOverride(override.on, () if form["kind"] == CLOSED else fields.hours)
    try:
        await changes.change_override(work, user, schedule_id, wanted, version=form["version"])
    except (Conflict, Invalid) as refusal:
        said = {"form": refusal.sentence}
        return _again(user, schedule, form, typed, said, work=work, override=override)
    return redirect(f"/availability/{schedule_id}?done=days&from={override.on}&to={override.on}#dates")


@get("/availability/{schedule_id}/days/{day}/remove")
async def ask_to_remove_override(work: Work, user: User, schedule_id: UUID, day: str) -> Response:
    """Ask whether a date shall have the hours of its weekday again."""
    schedule = await schedules.get_schedule(work, user, schedule_id)
    override = _get_override(schedule, day)
    return page(
        "confirm.html",
        user,
        here="/availability",
        title=Text("Remove the hours of %(day)s?", day=Weekday(override.on, words.day(work.now, schedule.zone))),
        explanation=Text("The date then uses the weekly hours again. Existing bookings are not affected."),
        yes=Text("Remove"),
        back=f"/availability/{schedule.id}#dates",
    )


@post("/availability/{schedule_id}/days/{day}/remove")
async def remove_override(work: Work, user: User, schedule_id: UUID, day: str) -> Response:
    """Let a date have the hours of its weekday again."""
    on = read_day(day)
    if on is None:
        raise OverrideNotFound
    await changes.remove_override(work, user, schedule_id, on)
    return redirect(f"/availability/{schedule_id}?done=removed#dates")


def _get_override(schedule: Schedule, day: str) -> DateOverride:
    on = read_day(day)
    override = find_override(schedule, on) if on else None
    if override is None:
        raise OverrideNotFound
    return override


def _read_hours(form: Form[OverrideForm], typed: list[Typed]) -> tuple[DayFields, dict[str, str]]:
    if form["kind"] == CLOSED:
        return fill_day("d", []), {}
    fields = fill_day("d", [pair for pair in typed if any(pair)])
    return fields, {} if fields.ranges else {"form": NO_HOURS}


def _again(
    user: User,
    schedule: Schedule,
    form: Form[OverrideForm],
    typed: list[Typed],
    faults: dict[str, str],
    *,
    work: Work | None = None,
    override: DateOverride | None = None,
) -> Response:
    """Show what was typed again: with its faults, or with another pair of fields."""
    if form["act"] == "add":
        return _show(user, schedule, form, fill_day("d", [*typed, ("", "")]), work=work, override=override)
    fields = fill_day("d", [pair for pair in typed if any(pair)] or [("", "")])
    return _show(user, schedule, form.with_faults(faults), fields, work=work, override=override, status=400)


def _show(
    user: User,
    schedule: Schedule,
    form: Form[OverrideForm],
    fields: DayFields,
    *,
    work: Work | None = None,
    override: DateOverride | None = None,
    status: int = 200,
) -> Response:
    on: date | None = override.on if override else None
    return page(
        "dashboard/availability/override.html",
        user,
        here="/availability",
        status=status,
        schedule=schedule,
        form=form,
        day=fields,
        on=on,
        heading=Weekday(on, words.day(work.now, schedule.zone)) if on and work else None,
        version=version_of(override.hours) if override else "",
    )
