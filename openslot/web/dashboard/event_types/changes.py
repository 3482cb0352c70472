"""Forms: archive an event type and offer it again, give it a private link or none, and delete it."""

from uuid import UUID

from openslot.accounts.models import User
from openslot.core.work import Work
from openslot.event_types import operations as event_types
from openslot.event_types import overview
from openslot.event_types.errors import EventTypeInUse
from openslot.routing import Response, get, post
from openslot.web.dashboard.event_types.links import links_of
from openslot.web.pages import page, redirect


@post("/event-types/{event_type_id}/archive")
async def archive_event_type(work: Work, user: User, event_type_id: UUID) -> Response:
    """Close an event type for booking; what is booked stays."""
    current = await event_types.get_for_change(work, user, event_type_id)
    await event_types.set_active(work, current, active=False)
    return redirect(f"/event-types?done=archived&id={event_type_id}")


@post("/event-types/{event_type_id}/restore")
async def restore_event_type(work: Work, user: User, event_type_id: UUID) -> Response:
    """Offer an archived event type again."""
    current = await event_types.get_for_change(work, user, event_type_id)
    await event_types.set_active(work, current, active=True)
    return redirect(f"/event-types/{event_type_id}?done=restored")


@get("/event-types/{event_type_id}/private")
async def ask_for_private_link(work: Work, user: User, event_type_id: UUID) -> Response:
    """Say what a new private link changes, before it is made."""
    found = await overview.get_overview(work, user, event_type_id)
    return page(
        "dashboard/event_types/private.html",
        user,
        here="/event-types",
        event_type=found.event_type,
        path=f"/event-types/{event_type_id}",
    )


@post("/event-types/{event_type_id}/private")
async def create_private_link(work: Work, user: User, event_type_id: UUID) -> Response:
    """Take an event type off the host's page, and give it a new private link."""
    current = await event_types.get_for_change(work, user, event_type_id)
    await event_types.make_private(work, current)
    return redirect(f"/event-types/{event_type_id}?done=private")


@get("/event-types/{event_type_id}/public")
async def ask_to_make_public(work: Work, user: User, event_type_id: UUID) -> Response:
    """Say what changes if an event type is on the host's page, before it is."""
    found = await overview.get_overview(work, user, event_type_id)
    if not found.event_type.is_private:
        return redirect(f"/event-types/{event_type_id}")
    return page(
        "dashboard/event_types/public.html",
        user,
        here="/event-types",
        event_type=found.event_type,
        path=f"/event-types/{event_type_id}",
    )


@post("/event-types/{event_type_id}/public")
async def make_public(work: Work, user: User, event_type_id: UUID) -> Response:
    """Put an event type on the host's page; its private link stops working."""
    current = await event_types.get_for_change(work, user, event_type_id)
    await event_types.make_public(work, current)
    return redirect(f"/event-types/{event_type_id}?done=public")


@get("/event-types/{event_type_id}/delete")
async def ask_to_delete(work: Work, user: User, event_type_id: UUID) -> Response:
    """Show what is lost with an event type, or that it was booked and can only be archived."""
    found = await overview.get_overview(work, user, event_type_id)
    return page(
        "dashboard/event_types/delete.html",
        user,
        here="/event-types",
        event_type=found.event_type,
        was_booked=found.was_booked,
        links=links_of(work, user, found),
        path=f"/event-types/{event_type_id}",
    )


@post("/event-types/{event_type_id}/delete")
async def delete_event_type(work: Work, user: User, event_type_id: UUID) -> Response:
    """Delete an event type that was never booked."""
    current = await event_types.get_for_change(work, user, event_type_id)
    try:
        async with work.attempt():
            await event_types.delete_event_type(work, current)
    except EventTypeInUse:
        return redirect(f"/event-types/{event_type_id}?done=archive-only")
    return redirect("/event-types?done=deleted")
