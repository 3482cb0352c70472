"""Pages: bookings whose events have disappeared from a calendar together."""

from typing import Annotated

from msgspec import Struct

from openslot.accounts.models import User
from openslot.core.errors import Conflict
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.integrations.calendars import missing as missing_events
from openslot.integrations.calendars.missing import Decision
from openslot.routing import Form, Response, WhenEmpty, get, post
from openslot.web.dashboard import phrases
from openslot.web.dashboard.calendars.overview import HERE
from openslot.web.pages import page, redirect

DONE = {Decision.CANCEL: "cancelled", Decision.RESTORE: "restored"}
DECIDED = Text("has changed in the meantime. Look at the list again")


class MissingForm(Struct, frozen=True, kw_only=True):
    """Which bookings are decided about, and how."""

    decision: Annotated[Decision, WhenEmpty(Text("Choose one of these"))]
    booking: list[str] = []


@get("/settings/calendars/missing")
async def show_missing(work: Work, user: User) -> Response:
    """Show the bookings whose events have disappeared."""
    return await _show(work, user, Form())


@post("/settings/calendars/missing")
async def decide(work: Work, user: User, form: Form[MissingForm]) -> Response:
    """Cancel the chosen bookings, or write their events again."""
    if form.faults:
        return await _show(work, user, form)
    sent = form.get()
    if not sent.booking:
        return await _show(work, user, form.with_faults({"booking": Text("Choose at least one booking")}))
    found = {str(each.booking_id): each.booking_id for each in await missing_events.list_missing(work, user)}
    if not found.keys() >= set(sent.booking):
        return await _show(work, user, form.with_faults({"booking": DECIDED}))
    try:
        await missing_events.decide_missing(work, user, sent.decision, [found[each] for each in sent.booking])
    except Conflict as refusal:
        return await _show(work, user, form.with_faults({"booking": refusal.sentence}))
    return redirect(f"{HERE}?done={DONE[sent.decision]}")


async def _show(work: Work, user: User, form: Form[MissingForm]) -> Response:
    found = await missing_events.list_missing(work, user)
    if not found and not form.faults:
        return redirect(HERE)
    return page(
        "dashboard/calendars/missing.html",
        user,
        here=HERE,
        status=400 if form.faults else 200,
        found=[
            (
                str(each.booking_id),
                each.invitee_name,
                phrases.at(each.starts_at, user.zone, now=work.now),
                each.calendar_name,
            )
            for each in found
        ],
        form=form,
    )
