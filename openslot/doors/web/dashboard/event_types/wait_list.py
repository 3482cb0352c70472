"""Pages: the wait list of one event type, for its host."""

from datetime import date
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from openslot.domains.accounts.models import User
from openslot.domains.event_types.rules import WAIT_LIST_MINUTES
from openslot.domains.wait_list.models import ListedWait
from openslot.domains.wait_list.operations import list_wait_list, remove_wait_list_entry, set_up_wait_list
from openslot.domains.wait_list.rules import DEFAULT_MINUTES
from openslot.doors.web.shared import words
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Response, WhenEmpty, get, post

MOST = 100
LEAST, LONGEST = WAIT_LIST_MINUTES
BOUNDS = Text("must be from %(least)s to %(max)s", least=LEAST, max=LONGEST)
NOTICES = {
    "saved": Text("The wait list was saved."),
    "removed": Text("The person was removed from the wait list."),
}


class WaitListForm(Struct, frozen=True, kw_only=True):
    is_on: bool = False
    minutes: Annotated[int, Meta(ge=LEAST, le=LONGEST), WhenEmpty(BOUNDS)]


class WaitListRow(Struct, frozen=True, kw_only=True):
    listed: ListedWait
    wanted: Text | date
    since: Text
    offered: Text | None


@get("/event-types/{event_type_id}/wait-list")
async def show_wait_list(work: Work, user: User, event_type_id: UUID, form: Form[WaitListForm] = Form()) -> Response:
    """Show whether there is a wait list, and who waits."""
    event_type, listed, total = await list_wait_list(work, user, event_type_id, page=1, limit=MOST)
    stored = event_type.wait_list_minutes
    begun = {"minutes": str(stored or DEFAULT_MINUTES), **({"is_on": "on"} if stored else {})}
    return page(
        "dashboard/event_types/wait_list.html",
        user,
        notices=NOTICES,
        here="/event-types",
        event_type=event_type,
        path=f"/event-types/{event_type.id}",
        form=form.begin(begun),
        least=LEAST,
        longest=LONGEST,
        entries=[_show(each, user, work) for each in listed],
        total=total,
    )


def _show(each: ListedWait, user: User, work: Work) -> WaitListRow:
    entry, zone = each.entry, user.zone
    start, until = each.offered_start, each.offered_until
    offered = None
    if start is not None and until is not None:
        offered = Text(
            "%(time)s, kept until %(until)s",
            time=words.at(start, zone, now=work.now),
            until=words.at(until, zone, now=work.now),
        )
    return WaitListRow(
        listed=each,
        wanted=words.at(entry.starts_at, zone, now=work.now) if entry.starts_at else entry.day,
        since=words.at(entry.created_at, zone, now=work.now),
        offered=offered,
    )


@post("/event-types/{event_type_id}/wait-list", shows=show_wait_list, names={"waitListMinutes": "minutes"})
async def save_wait_list(work: Work, user: User, event_type_id: UUID, form: Form[WaitListForm]) -> Response:
    """Switch the wait list on or off, and choose how long a free time is kept for each person."""
    sent = form.get()
    await set_up_wait_list(work, user, event_type_id, minutes=sent.minutes if sent.is_on else None)
    return redirect(f"/event-types/{event_type_id}/wait-list?done=saved")


@post("/event-types/{event_type_id}/wait-list/{entry_id}/remove")
async def remove_from_wait_list(work: Work, user: User, event_type_id: UUID, entry_id: UUID) -> Response:
    """Remove somebody; what is kept for them is offered to the next."""
    await remove_wait_list_entry(work, user, event_type_id, entry_id)
    return redirect(f"/event-types/{event_type_id}/wait-list?done=removed")
