"""Pages: the last of the first steps: hosts book themselves once on their own page, and see what came of it."""

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import urlencode
from uuid import UUID

from openslot.domains.accounts.models import User
from openslot.domains.bookings.models import AgendaEntry, AgendaFilter, AgendaView, BookingRef
from openslot.domains.bookings.operations import cancel_booking, list_agenda
from openslot.domains.calendars.operations import list_calendar_connections
from openslot.domains.event_types.models import EventType
from openslot.domains.event_types.operations import list_event_types
from openslot.domains.timeline.models import EffectKind, TimelineEffect
from openslot.domains.timeline.operations import list_timeline
from openslot.doors.web.dashboard.event_types.overview import find_closed
from openslot.doors.web.dashboard.onboarding import step_page
from openslot.doors.web.dashboard.rows import Step, describe_step
from openslot.doors.web.shared import words
from openslot.doors.web.shared.booking_notices import NOTICES
from openslot.doors.web.shared.pages import redirect
from openslot.platform.core.events import EffectState
from openslot.platform.core.text import fold_ascii
from openslot.platform.core.work import Work
from openslot.platform.routing import Response, get, post

SHOWN = {EffectKind.MAIL, EffectKind.CALENDAR}
PENDING = {EffectState.QUEUED, EffectState.RUNNING, EffectState.WAITING}


@get("/welcome/try")
async def show_own_booking(work: Work, user: User) -> Response:
    """Lead to the host's page, or show what came of the booking that the host has made there."""
    own = await _find_own(work, user)
    if own is None:
        offered, _ = await list_event_types(work, user, only_active=True)
        return step_page(user, 5, own=None, notices=NOTICES, page_path=_find_page(user, offered))
    effects = await list_timeline(work, user, own.id)
    return step_page(
        user,
        5,
        own=own,
        when=words.day_and_hours(own.starts_at, own.ends_at, user.zone, now=work.now),
        mails=_list_steps(effects, EffectKind.MAIL, user, now=work.now),
        entries=_list_steps(effects, EffectKind.CALENDAR, user, now=work.now),
        is_pending=any(each.kind in SHOWN and each.state in PENDING for each in effects),
        connections=await list_calendar_connections(work, user),
    )


@post("/welcome/try/{booking_id}/cancel")
async def cancel_own_booking(work: Work, user: User, booking_id: UUID) -> Response:
    await cancel_booking(work, BookingRef(booking_id, user.id))
    return redirect("/welcome/try?done=cancelled")


async def _find_own(work: Work, user: User) -> AgendaEntry | None:
    """Find the next meeting that hosts have with themselves."""
    found = await list_agenda(work, user, AgendaFilter(view=AgendaView.UPCOMING, search=user.email))
    return next((each for each in found.entries if fold_ascii(each.invitee_email) == fold_ascii(user.email)), None)


def _find_page(user: User, offered: Sequence[EventType]) -> str | None:
    """Return the path of the first page that shows times, with the host's name and address filled in."""
    for each in offered:
        if not each.is_private and each.team_id is None and find_closed(each) is None:
            return f"/{user.username}/{each.slug}?{urlencode({'name': user.name, 'email': user.email})}"
    return None


def _list_steps(effects: Sequence[TimelineEffect], kind: EffectKind, user: User, *, now: datetime) -> list[Step]:
    return [describe_step(each, user, now=now) for each in effects if each.kind is kind]
