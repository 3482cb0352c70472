"""Pages: the weekly hours of a schedule, and dates with hours of their own."""

import re
from collections.abc import Mapping
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.schedules.errors import OverrideNotFound
from openslot.domains.schedules.models import DateOverride, Hours, Schedule
from openslot.domains.schedules.operations import (
    add_schedule_overrides,
    change_schedule_hours,
    change_schedule_override,
    get_schedule,
    remove_schedule_override,
)
from openslot.domains.schedules.rules import MAX_RANGES_A_DAY, find_override, version_of
from openslot.doors.web.dashboard.availability import range_fields
from openslot.doors.web.dashboard.availability.schedules import WeeklyHoursForm, read_week, schedule_page, show_schedule
from openslot.doors.web.shared import words
from openslot.doors.web.shared.list_queries import NOT_A_DATE, read_day
from openslot.doors.web.shared.pages import page, redirect
from openslot.doors.web.shared.words import Weekday
from openslot.platform.core.errors import Conflict, Invalid
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Request, Response, get, post

DAYS = range(7)
NOT_SAVED = Text("Not saved yet. Save the hours when they are right.")
WRONG = Text("Nothing was saved. Correct the marked fields.")

_ACT = re.compile(r"(add|remove) ([0-6])(?:\.(\d{1,3}))?", re.ASCII)
NO_HOURS = Text("Enter hours, or choose “Closed”")
OPEN, CLOSED = "open", "closed"


@post("/availability/{schedule_id}/hours", shows=show_schedule, at={Conflict: "version"}, own_status=True)
async def change_weekly_hours(
    request: Request, work: Work, user: User, schedule_id: UUID, form: Form[WeeklyHoursForm]
) -> Response:
    """Save the weekly hours, or show them again with a range or a day changed."""
    if form["act"] not in {"", "save"}:
        typed = [range_fields.read_typed(form.values, f"d{day}") for day in DAYS]
        unsaved = _edit(typed, form.values)
        hours = {
            f"d{day}.{index}.{part}": text
            for day, pairs in enumerate(typed)
            for index, pair in enumerate(pairs)
            for part, text in zip(("start", "end"), pair, strict=True)
        }
        return await schedule_page(
            request, work, user, schedule_id, replace(form, values={"act": form["act"], **hours}), unsaved=unsaved
        )
    week = read_week(form)
    if range_fields.find_faults(week):
        raise Invalid(details={"form": WRONG})
    await change_schedule_hours(work, user, schedule_id, range_fields.week_of(week), version=form["version"])
    return redirect(f"/availability/{schedule_id}?done=hours")


def _edit(typed: list[list[range_fields.Typed]], values: Mapping[str, str]) -> Text:
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


def _copy(typed: list[list[range_fields.Typed]], values: Mapping[str, str]) -> Text:
    source = values.get("copy_from", "")
    targets = [day for day in DAYS if f"copy_to.{day}" in values]
    if source not in {str(day) for day in DAYS} or not targets:
        return Text("Nothing was copied. Choose the days to copy to.")
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
async def show_new_override(
    request: Request, work: Work, user: User, schedule_id: UUID, form: Form[OverrideForm] = Form()
) -> Response:
    """Show the form for some dates; a date in the address starts with the hours of its weekday."""
    schedule = await get_schedule(work, user, schedule_id)
    on = read_day(request.query.get("day", ""))
    form = form.begin({"first": on.isoformat() if on else "", "kind": OPEN})
    return _show(work, user, schedule, form, hours=schedule.weekly_hours[on.weekday()] if on else ())


@post("/availability/{schedule_id}/days", shows=show_new_override, at={Conflict: "first"})
async def add_overrides(
    request: Request, work: Work, user: User, schedule_id: UUID, form: Form[OverrideForm]
) -> Response:
    """Give some dates hours of their own, or close them."""
    if form["act"] == "add":
        return await show_new_override(request, work, user, schedule_id, form)
    hours, faults = _read_hours(form)
    first, last = read_day(form["first"]), read_day(form["last"] or form["first"])
    faults |= {name: NOT_A_DATE for name, on in (("first", first), ("last", last)) if on is None}
    if faults or first is None or last is None:
        raise Invalid(details=faults)
    try:
        await add_schedule_overrides(work, user, schedule_id, first=first, last=last, hours=hours)
    except Invalid as refusal:
        faults = {name if name in {"first", "last"} else "form": fault for name, fault in refusal.faults.items()}
        raise Invalid(details=faults) from None
    return redirect(f"/availability/{schedule_id}?done=days&from={first}&to={last}#dates")


@get("/availability/{schedule_id}/days/{day}")
async def show_override(
    work: Work, user: User, schedule_id: UUID, day: str, form: Form[OverrideForm] = Form()
) -> Response:
    """Show the form for one date that has hours of its own."""
    schedule = await get_schedule(work, user, schedule_id)
    override = _get_override(schedule, day)
    form = form.begin({"kind": OPEN if override.hours else CLOSED})
    return _show(work, user, schedule, form, hours=override.hours, override=override)


@post("/availability/{schedule_id}/days/{day}", shows=show_override, at={Conflict: "form"})
async def change_override(work: Work, user: User, schedule_id: UUID, day: str, form: Form[OverrideForm]) -> Response:
    if form["act"] == "add":
        return await show_override(work, user, schedule_id, day, form)
    override = _get_override(await get_schedule(work, user, schedule_id), day)
    hours, faults = _read_hours(form)
    if faults:
        raise Invalid(details=faults)
    try:
        wanted = DateOverride(override.on, hours)
        await change_schedule_override(work, user, schedule_id, wanted, version=form["version"])
    except Invalid as refusal:
        raise Invalid(details={"form": refusal.sentence}) from None
    return redirect(f"/availability/{schedule_id}?done=days&from={override.on}&to={override.on}#dates")


@get("/availability/{schedule_id}/days/{day}/remove")
async def ask_to_remove_override(work: Work, user: User, schedule_id: UUID, day: str) -> Response:
    """Ask whether a date shall have the hours of its weekday again."""
    schedule = await get_schedule(work, user, schedule_id)
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
    await remove_schedule_override(work, user, schedule_id, on)
    return redirect(f"/availability/{schedule_id}?done=removed#dates")


def _get_override(schedule: Schedule, day: str) -> DateOverride:
    on = read_day(day)
    override = find_override(schedule, on) if on else None
    if override is None:
        raise OverrideNotFound
    return override


def _read_hours(form: Form[OverrideForm]) -> tuple[Hours, dict[str, str]]:
    if form["kind"] == CLOSED:
        return (), {}
    fields = range_fields.fill_day("d", [pair for pair in range_fields.read_typed(form.values, "d") if any(pair)])
    return fields.hours, range_fields.find_faults([fields]) or ({} if fields.ranges else {"form": NO_HOURS})


def _show(
    work: Work,
    user: User,
    schedule: Schedule,
    form: Form[OverrideForm],
    *,
    hours: Hours,
    override: DateOverride | None = None,
) -> Response:
    """Show a form: with the hours that are saved, or what was typed, with its faults or another pair of fields."""
    typed = range_fields.read_typed(form.values, "d") if form.kind else range_fields.write_hours(hours)
    shown = [*typed, ("", "")] if form["act"] == "add" else [pair for pair in typed if any(pair)] or [("", "")]
    on = override.on if override else None
    return page(
        "dashboard/availability/override.html",
        user,
        here="/availability",
        schedule=schedule,
        form=form,
        day=range_fields.fill_day("d", shown),
        on=on,
        heading=Weekday(on, words.day(work.now, schedule.zone)) if on else None,
        version=version_of(override.hours) if override else "",
    )
