"""The form of the weekly hours: save them, add and remove ranges, and copy a day to others."""

import re
from collections.abc import Mapping
from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.core.errors import Conflict, Invalid
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.routing import Form, Response, post
from openslot.schedules import changes
from openslot.schedules.rules import MOST_RANGES_A_DAY
from openslot.web.dashboard.availability.range_fields import Typed, fill_week, read_typed, week_of
from openslot.web.dashboard.availability.schedule import schedule_page
from openslot.web.pages import redirect

DAYS = range(7)
NOT_SAVED = Text("Not saved yet. Save the hours when they are right.")
WRONG = Text("Nothing was saved. Correct the marked fields.")
NO_DAYS = Text("Nothing was copied. Choose the days to copy to.")

_ACT = re.compile(r"(add|remove) ([0-6])(?:\.(\d{1,3}))?", re.ASCII)


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
    if found and found[1] == "add" and len(typed[int(found[2])]) < MOST_RANGES_A_DAY:
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
