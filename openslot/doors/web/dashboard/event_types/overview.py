"""Pages: the list of event types and their order; archive one, give it a private link or none, and delete it."""

from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID

from msgspec import Meta, Struct

from openslot.domains.accounts.models import User
from openslot.domains.event_types.errors import EventTypeInUse
from openslot.domains.event_types.links.operations import find_booking_path
from openslot.domains.event_types.models import EventType, EventTypeOverview, LocationKind
from openslot.domains.event_types.operations import (
    delete_event_type,
    get_event_type_for_change,
    get_event_type_overview,
    list_event_type_overview,
    make_event_type_private,
    make_event_type_public,
    move_event_type,
    set_event_type_active,
)
from openslot.domains.event_types.rules import is_offered
from openslot.doors.web.dashboard.event_types.locations import LOCATIONS
from openslot.doors.web.shared.curl import curl
from openslot.doors.web.shared.list_queries import make_pager, read_page
from openslot.doors.web.shared.offers import format_durations
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import SHAPE
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Request, Response, get, post

ROWS = 100
NOTICES = {
    "archived": Text("It was archived and can't be booked any more. Upcoming bookings stay as they are."),
    "deleted": Text("The event type was deleted."),
    "gone": Text("The list has changed in the meantime. This is the current list."),
}


UNPAID = Text(
    "Invitees see no times, because it has a price and no account to pay to. Connect one, or choose one beside the "
    "price. You can book it for someone."
)
GONE = Text(
    "Invitees see no times, because the account that they paid to is gone: it was disconnected, or you have left its "
    "organization. Choose another one beside the price. You can book it for someone."
)


class OfferLinks(Struct, frozen=True, kw_only=True):
    """Where an event type can be booked; None for a private one whose link can't be shown any more."""

    url: str | None
    qr: str | None


def links_of(work: Work, user: User, overview: EventTypeOverview) -> OfferLinks:
    """Write the links of an event type; a private one's contain its token."""
    event_type = overview.event_type
    if event_type.is_private and overview.token is None:
        return OfferLinks(url=None, qr=None)
    path = find_booking_path(user, event_type, overview.team_page)
    query = f"?{urlencode({'token': overview.token})}" if overview.token else ""
    return OfferLinks(url=f"{work.runtime.settings.public_url}{path}{query}", qr=f"{path}/qr{query}")


def state_of(event_type: EventType) -> tuple[Text, str]:
    if not event_type.active:
        return Text("Archived"), "off"
    if not is_offered(event_type):
        return Text("Offers no times"), "warn"
    if event_type.is_private:
        return Text("Private"), "private"
    return Text("Public"), "good"


def find_closed(event_type: EventType) -> Text | None:
    """Say why invitees see no times of an event type that is active."""
    if not event_type.active or is_offered(event_type):
        return None
    return GONE if event_type.payment_connection_id else UNPAID


class MoveForm(Struct, frozen=True, kw_only=True):
    before: Annotated[str, Meta(max_length=100)] = ""
    """The one that comes next; empty at the end."""
    by: Annotated[str, Meta(max_length=10)] = ""


@get("/event-types")
async def show_event_types(request: Request, work: Work, user: User) -> Response:
    """Show what a host offers, or what is archived."""
    archived, number = request.query.get("view") == "archived", read_page(request)
    found = await list_event_type_overview(work, user, active=not archived, page=number, limit=ROWS)
    total = found.archived if archived else found.offered
    view = "?view=archived&" if archived else "?"
    undo = request.query.get("id", "") if request.query.get("done") == "archived" else ""
    return page(
        "dashboard/event_types/list.html",
        user,
        here="/event-types",
        archived=archived,
        counts=(found.offered, found.archived),
        rows=[
            (
                each,
                describe_event_type(each.event_type),
                state_of(each.event_type),
                links_of(work, user, each).url,
                find_closed(each.event_type),
            )
            for each in found.entries
        ],
        host_link=f"{work.runtime.settings.public_url}/{user.username}",
        notices=NOTICES,
        undo=undo if SHAPE.fullmatch(undo) else "",
        moved=(request.query.get("moved", ""), request.query.get("by", "")),
        pager=make_pager(number, total, ROWS, lambda page: f"/event-types{view}page={page}"),
        curl=curl(work, user, "/event-types") if not archived else None,
    )


@post("/event-types/{event_type_id}/move")
async def move_listed_event_type(work: Work, user: User, event_type_id: UUID, form: Form[MoveForm]) -> Response:
    """Show an event type before another one, or at the end."""
    wanted = form["before"]
    try:
        before = UUID(wanted) if SHAPE.fullmatch(wanted) else event_type_id if wanted else None
        await move_event_type(work, user, event_type_id, before=before)
    except Invalid:
        return redirect("/event-types?done=gone")
    by = form["by"] if form["by"] in {"up", "down"} else ""
    return redirect(f"/event-types?moved={event_type_id}&by={by}")


def describe_event_type(event_type: EventType) -> list[object]:
    """List how long it takes, where it takes place, and for how many people it is."""
    details: list[object] = [format_durations(event_type)]
    known = [each for each in event_type.all_locations if each.kind is not LocationKind.TEXT or each.value or each.asks]
    details += [LOCATIONS[kind] for kind in dict.fromkeys(each.kind for each in known)]
    if event_type.seats > 1:
        details.append(Text("Up to %(count)s people", count=event_type.seats))
    return details


@post("/event-types/{event_type_id}/archive")
async def archive_event_type(work: Work, user: User, event_type_id: UUID) -> Response:
    """Close an event type for booking; what is booked stays."""
    current = await get_event_type_for_change(work, user, event_type_id)
    await set_event_type_active(work, current, active=False)
    return redirect(f"/event-types?done=archived&id={event_type_id}")


@post("/event-types/{event_type_id}/restore")
async def restore_event_type(work: Work, user: User, event_type_id: UUID) -> Response:
    """Offer an archived event type again."""
    current = await get_event_type_for_change(work, user, event_type_id)
    await set_event_type_active(work, current, active=True)
    return redirect(f"/event-types/{event_type_id}?done=restored")


@get("/event-types/{event_type_id}/private")
async def ask_for_private_link(work: Work, user: User, event_type_id: UUID) -> Response:
    """Say what a new private link changes, before it is made."""
    found = await get_event_type_overview(work, user, event_type_id)
    return page("dashboard/event_types/private.html", user, here="/event-types", event_type=found.event_type)


@post("/event-types/{event_type_id}/private")
async def create_private_link(work: Work, user: User, event_type_id: UUID) -> Response:
    """Take an event type off the host's page, and give it a new private link."""
    current = await get_event_type_for_change(work, user, event_type_id)
    await make_event_type_private(work, current)
    return redirect(f"/event-types/{event_type_id}?done=private")


@get("/event-types/{event_type_id}/public")
async def ask_to_make_public(work: Work, user: User, event_type_id: UUID) -> Response:
    """Say what changes if an event type is on the host's page, before it is."""
    found = await get_event_type_overview(work, user, event_type_id)
    if not found.event_type.is_private:
        return redirect(f"/event-types/{event_type_id}")
    return page("dashboard/event_types/public.html", user, here="/event-types", event_type=found.event_type)


@post("/event-types/{event_type_id}/public")
async def make_public(work: Work, user: User, event_type_id: UUID) -> Response:
    """Put an event type on the host's page; its private link stops working."""
    current = await get_event_type_for_change(work, user, event_type_id)
    await make_event_type_public(work, current)
    return redirect(f"/event-types/{event_type_id}?done=public")


@get("/event-types/{event_type_id}/delete")
async def ask_to_delete(work: Work, user: User, event_type_id: UUID) -> Response:
    """Show what is lost with an event type, or that it was booked and can only be archived."""
    found = await get_event_type_overview(work, user, event_type_id)
    return page(
        "dashboard/event_types/delete.html",
        user,
        here="/event-types",
        event_type=found.event_type,
        was_booked=found.was_booked,
        links=links_of(work, user, found),
    )


@post("/event-types/{event_type_id}/delete")
async def delete_listed_event_type(work: Work, user: User, event_type_id: UUID) -> Response:
    """Delete an event type that was never booked."""
    current = await get_event_type_for_change(work, user, event_type_id)
    try:
        async with work.attempt():
            await delete_event_type(work, current)
    except EventTypeInUse:
        return redirect(f"/event-types/{event_type_id}?done=archive-only")
    return redirect("/event-types?done=deleted")
