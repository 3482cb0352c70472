"""What a host keeps about a booking for themselves: that the invitee did not come, and private notes."""

from typing import Literal
from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.bookings import queries
from openslot.domains.bookings.operations import mark_no_show, write_private_notes
from openslot.doors.web.dashboard.bookings import PrivateNotesForm, show_booking
from openslot.doors.web.shared.pages import redirect
from openslot.platform.core.errors import Conflict
from openslot.platform.core.work import Work
from openslot.platform.routing import Form, Response, post


class NoShowForm(Struct, frozen=True, kw_only=True):
    no_show: Literal["yes", "no"]


@post("/bookings/{booking_id}/no-show", shows=show_booking, at={Conflict: "no_show"}, own_status=True)
async def save_no_show(work: Work, user: User, booking_id: UUID, form: Form[NoShowForm]) -> Response:
    """Mark that the invitee did not come, or take that back."""
    is_marked = form.get().no_show == "yes"
    await mark_no_show(work, await queries.get_ref(work, user, booking_id), no_show=is_marked)
    return redirect(f"/bookings/{booking_id}?done={'no-show' if is_marked else 'no-show-removed'}")


@post("/home/no-show/{booking_id}", shows=show_booking, at={Conflict: "no_show"}, own_status=True)
async def mark_no_show_from_home(work: Work, user: User, booking_id: UUID, form: Form[NoShowForm]) -> Response:
    """Do the same, and show the first screen."""
    is_marked = form.get().no_show == "yes"
    await mark_no_show(work, await queries.get_ref(work, user, booking_id), no_show=is_marked)
    return redirect(f"/?done={'no-show' if is_marked else 'no-show-removed'}")


@post("/bookings/{booking_id}/notes", shows=show_booking)
async def save_private_notes(work: Work, user: User, booking_id: UUID, form: Form[PrivateNotesForm]) -> Response:
    await write_private_notes(work, user, booking_id, form.get().private_notes)
    return redirect(f"/bookings/{booking_id}?done=noted")
