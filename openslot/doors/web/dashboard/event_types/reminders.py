"""Pages: what people are written before and after the meetings of one event type: its own choice, or that of all."""

from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.event_types.operations import get_event_type
from openslot.domains.reminders.operations import find_own_reminders, get_reminders, set_reminder_entries
from openslot.doors.web.dashboard.reminders import SAVED, list_entries
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.work import Work
from openslot.platform.routing import Form, Response, get, post

OWN = "own"
NOTICES = {"reminders": SAVED}


class ChoiceForm(Struct, frozen=True, kw_only=True):
    which: str = ""


@get("/event-types/{event_type_id}/reminders")
async def show_reminders(work: Work, user: User, event_type_id: UUID) -> Response:
    event_type = await get_event_type(work, user, event_type_id)
    own, usual = await find_own_reminders(work, user.id, event_type.id)
    return page(
        "dashboard/event_types/reminders.html",
        user,
        notices=NOTICES,
        here="/event-types",
        event_type=event_type,
        path=f"/event-types/{event_type.id}",
        is_own=own is not None,
        entries=list_entries(usual if own is None else own),
        scope=event_type.id,
    )


@post("/event-types/{event_type_id}/reminders")
async def choose_reminders(work: Work, user: User, event_type_id: UUID, form: Form[ChoiceForm]) -> Response:
    """Give an event type reminders of its own, which begin as those of all meetings, or take them away."""
    event_type = await get_event_type(work, user, event_type_id)
    is_own = form.sent is not None and form.sent.which == OWN
    kept = await get_reminders(work, user.id, event_type.id) if is_own else None
    await set_reminder_entries(work, user, event_type, kept)
    return redirect(f"/event-types/{event_type.id}/reminders?done=reminders")
