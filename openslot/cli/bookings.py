"""booking …: requests for a time, confirmed or declined on behalf of their host."""

from typing import Annotated

import typer

from openslot.cli.command import command, group
from openslot.cli.output import Answer, pick
from openslot.domains.bookings.models import BookingRef
from openslot.domains.bookings.requests.operations import confirm_booking_request, decline_booking_request
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import parse_id
from openslot.platform.core.text import PROSE_SHAPE, at_most_characters
from openslot.platform.core.work import Work

app = group("Bookings.")

BookingId = Annotated[str, typer.Argument(help="Id of the booking that waits for its host")]


@app.callback()
def booking() -> None:
    """Bookings."""


@command(app, "confirm")
async def confirm_booking(work: Work, booking_id: BookingId) -> Answer:
    """Confirm a booking that waits for its host; everyone is notified."""
    confirmed = await confirm_booking_request(work, BookingRef(parse_id(booking_id), None))
    shown = pick(confirmed, "id status", start_time=confirmed.starts_at, end_time=confirmed.ends_at)
    return Answer(shown, f"Confirmed: {confirmed.id}")


@command(app, "decline")
async def decline_booking(
    work: Work,
    booking_id: BookingId,
    *,
    reason: Annotated[str | None, typer.Option(help="Why, as the invitee reads it")] = None,
) -> Answer:
    """Decline a booking that waits for its host; its time is free again, and the invitee is notified."""
    if reason and not (len(reason) <= 500 and PROSE_SHAPE.match(reason)):
        raise Invalid(details={"reason": at_most_characters(500)})
    declined = await decline_booking_request(work, BookingRef(parse_id(booking_id), None), reason=reason)
    shown = pick(declined, "state reason ended_at", id=declined.booking_id)
    return Answer(shown, f"Declined: {declined.booking_id}")
