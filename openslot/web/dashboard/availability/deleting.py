"""Pages: delete a schedule."""

from uuid import UUID

from openslot.accounts.models import User
from openslot.core.errors import Conflict
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.routing import Response, get, post
from openslot.schedules import operations as schedules
from openslot.schedules.models import Schedule
from openslot.web.pages import page, redirect


@get("/availability/{schedule_id}/delete")
async def ask_to_delete_schedule(work: Work, user: User, schedule_id: UUID) -> Response:
    """Ask whether a schedule shall be deleted."""
    return _show(user, await schedules.get_schedule(work, user, schedule_id))


@post("/availability/{schedule_id}/delete")
async def delete_schedule(work: Work, user: User, schedule_id: UUID) -> Response:
    """Delete a schedule that nothing uses."""
    schedule = await schedules.get_schedule(work, user, schedule_id)
    try:
        async with work.attempt():
            await schedules.delete_schedule(work, schedule)
    except Conflict as refusal:
        return _show(user, schedule, refusal=refusal.sentence)
    return redirect("/availability?done=deleted")


def _show(user: User, schedule: Schedule, *, refusal: str | None = None) -> Response:
    return page(
        "dashboard/availability/confirm.html",
        user,
        here="/availability",
        status=409 if refusal else 200,
        title=Text("Delete “%(name)s”?", name=schedule.name),
        explanation=Text("Its hours, dates and holidays are deleted. This can't be undone."),
        action=f"/availability/{schedule.id}/delete",
        button=Text("Delete schedule"),
        back=f"/availability/{schedule.id}",
        refusal=refusal,
    )
