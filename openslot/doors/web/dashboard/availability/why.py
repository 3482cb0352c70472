"""Page: why is this time not offered? The engine's own reasons, each with where it is set."""

from datetime import date, datetime, time
from functools import partial
from typing import Any

from openslot.domains.accounts.models import User
from openslot.domains.availability.explanations import Reason, StartExplained, WholeDayExplained
from openslot.domains.availability.models import ByBooking, Code
from openslot.domains.availability.operations import explain_whole_day
from openslot.domains.availability.reasons import LocalMoment
from openslot.domains.event_types.models import EventType
from openslot.domains.event_types.operations import list_event_types
from openslot.doors.web.dashboard.availability.range_fields import NOT_A_TIME, find_clock
from openslot.doors.web.dashboard.event_types.overview import find_closed
from openslot.doors.web.shared import words
from openslot.doors.web.shared.curl import curl
from openslot.doors.web.shared.list_queries import NOT_A_DATE, read_day
from openslot.doors.web.shared.pages import page
from openslot.doors.web.shared.words import Weekday
from openslot.platform.core.times import get_zone
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Request, Response, get

OPEN = Text("This time can be booked.")
CLOSED = Text("This time can't be booked.")
EVENT_TYPE, SCHEDULE = Text("Change the event type"), Text("Change the hours")
OTHER_PLACES = {
    Code.OUT_OF_OFFICE: ("/availability/away", Text("Change the time off")),
    Code.BUSY: ("/settings/calendars", Text("View calendars")),
}


@get("/availability/why")
async def show_why(request: Request, work: Work, user: User) -> Response:
    """Explain a day of an event type, and one time of it."""
    offered, _ = await list_event_types(work, user)
    form, on, at = _read(request, user, work)
    chosen = next((each for each in offered if each.slug == form["type"]), offered[0] if offered else None)
    explained = None
    if chosen and chosen.active and on and not form.faults:
        explained = await explain_whole_day(work, ByBooking(chosen.id), on, local_time=at)
    return page(
        "dashboard/availability/why.html",
        user,
        here="/availability",
        tab="/availability/why",
        form=form,
        offered=offered,
        chosen=chosen,
        explained=explained,
        closed=find_closed(chosen) if chosen else None,
        **(_tell(explained, on, at, now=work.now) if explained and chosen and on else {}),
        curl=_write_curl(work, user, chosen, on, explained) if explained and chosen and on else None,
    )


def _read(request: Request, user: User, work: Work) -> tuple[Form[None], date | None, time | None]:
    """Read the address; without a day it is today."""
    values = {name: request.query.get(name, "").strip()[:200] for name in ("type", "day", "time")}
    values["day"] = values["day"] or words.day(work.now, user.zone).isoformat()
    on, minute = read_day(values["day"]), find_clock(values["time"])
    faults: dict[str, str] = {} if on else {"day": NOT_A_DATE}
    if values["time"] and (minute is None or minute == 1440):
        faults["time"] = NOT_A_TIME
        minute = None
    return Form(values=values, faults=faults), on, None if minute is None else time(minute // 60, minute % 60)


def _tell(explained: WholeDayExplained, on: date, at: time | None, *, now: datetime) -> dict[str, Any]:
    zone = explained.found.inputs.calendar.zone
    asked = explained.asked
    return {
        "zone": zone,
        "day_name": Weekday(on, words.day(now, zone)),
        "verdict": None if asked is None else OPEN if asked.code is Code.OPEN else CLOSED,
        "asked_at": None if asked is None else LocalMoment(_local(asked.starts_at, zone)),
        "clock_note": _note_clock(asked, on, at, zone),
        "reasons": [] if asked is None else asked.reasons,
        "find_place": partial(_find_place, explained),
        "starts": [(_local(each.starts_at, zone), each.reasons) for each in explained.starts],
    }


def _note_clock(asked: StartExplained | None, on: date, at: time | None, zone: str) -> Text | None:
    """Say if a clock never shows the time that was asked for, or shows it twice."""
    if asked is None or at is None:
        return None
    local = asked.starts_at.astimezone(get_zone(zone))
    if (local.date(), local.time()) != (on, at):
        return Text("Clocks skip %(time)s on this day. The next time is shown.", time=at)
    if local.utcoffset() != local.replace(fold=1).utcoffset():
        return Text("Clocks show %(time)s twice on this day. The first time is shown.", time=at)
    return None


def _find_place(explained: WholeDayExplained, reason: Reason) -> tuple[str | None, Text | None]:
    inputs = explained.found.inputs
    if reason.code in OTHER_PLACES:
        return OTHER_PLACES[reason.code]
    if reason.code is Code.PAST:
        return None, None
    if reason.code in {Code.OUTSIDE_HOURS, Code.HOLIDAY}:
        part = "#holidays" if reason.code is Code.HOLIDAY else ""
        return f"/availability/{inputs.calendar.id}{part}", SCHEDULE
    if reason.code in {Code.TAKEN, Code.FULL} and reason.starts_at and reason.ends_at:
        zone = get_zone(explained.found.host_zone)
        first, last = (edge.astimezone(zone).date() for edge in (reason.starts_at, reason.ends_at))
        return f"/bookings?from={first}&to={last}", Text("View bookings")
    return f"/event-types/{inputs.event_type.id}", EVENT_TYPE


def _write_curl(work: Work, user: User, chosen: EventType, on: date, explained: WholeDayExplained) -> object:
    zone = explained.found.inputs.calendar.zone
    query = {"timezone": zone, "startDate": on.isoformat(), "endDate": on.isoformat()}
    return curl(work, user, f"/availability/{chosen.slug}", query=query)


def _local(at: datetime, zone: str) -> datetime:
    return at.astimezone(get_zone(zone)).replace(tzinfo=None)
