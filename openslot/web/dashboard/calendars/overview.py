"""Pages: all calendar connections, where bookings are written to, and the feed of one's own bookings."""

from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.core.errors import Conflict
from openslot.core.work import Work
from openslot.flags import operations as flags
from openslot.flags.models import FlagKey
from openslot.i18n import Text
from openslot.integrations.calendars import feeds
from openslot.integrations.calendars import missing as missing_events
from openslot.integrations.calendars import operations as calendars
from openslot.integrations.calendars.models import CalendarConnection, ConnectionChanges, ConnectionRef
from openslot.routing import Form, Request, Response, get, post
from openslot.web import words
from openslot.web.dashboard.calendars.rows import connection_row
from openslot.web.pages import page, redirect

HERE = "/settings/calendars"
GONE = Text("is no longer one of your calendars")
NOTICES = {
    "connected": Text("The calendar is connected. Its busy times are syncing now."),
    "disconnected": Text("The calendar is disconnected."),
    "target": Text("Your choice is saved. It applies to bookings from now on."),
    "feed-ended": Text("The link was revoked."),
    "cancelled": Text("The bookings were cancelled."),
    "restored": Text("The events are being restored in the calendar."),
}


class TargetForm(Struct, frozen=True, kw_only=True):
    """The calendar that receives bookings; none if empty."""

    calendar: str = ""


@get("/settings/calendars")
async def show_calendars(request: Request, work: Work, user: User) -> Response:
    """Show the calendar connections."""
    return await _show(work, user, notice=NOTICES.get(request.query.get("done", "")))


@post("/settings/calendars/target")
async def choose_target(work: Work, user: User, form: Form[TargetForm]) -> Response:
    """Choose the calendar that bookings are written to."""
    found = await calendars.list_connections(work, user)
    if form.faults:
        return await _show(work, user, target_form=form)
    chosen = form.get().calendar
    connection = _find_holder(found, chosen) if chosen else next(iter(found), None)
    if connection is None:
        return await _show(work, user, target_form=form.with_faults({"calendar": GONE}))
    try:
        ref = ConnectionRef(connection.id, user.id)
        await calendars.change_connection(work, ref, ConnectionChanges(write_to=chosen))
    except Conflict as refusal:
        return await _show(work, user, target_form=form.with_faults({"calendar": refusal.sentence}))
    return redirect(f"{HERE}?done=target")


@post("/settings/calendars/feed")
async def renew_own_feed(work: Work, user: User) -> Response:
    """Make the secret link to one's bookings and show it once, in this response."""
    return await _show(work, user, new_feed=await feeds.renew_feed(work, user))


@get("/settings/calendars/feed/end")
async def ask_to_end_feed(work: Work, user: User) -> Response:
    """Ask for confirmation before the secret link ends."""
    if await feeds.find_feed(work, user) is None:
        return redirect(HERE)
    return page("dashboard/calendars/end_feed.html", user, here=HERE)


@post("/settings/calendars/feed/end")
async def end_feed(work: Work, user: User) -> Response:
    """Let the secret link lead nowhere."""
    await feeds.revoke_feed(work, user)
    return redirect(f"{HERE}?done=feed-ended")


async def _show(
    work: Work,
    user: User,
    *,
    notice: Text | None = None,
    target_form: Form[TargetForm] | None = None,
    new_feed: str | None = None,
) -> Response:
    found = await calendars.list_connections(work, user)
    made_at = await feeds.find_feed(work, user)
    receiving = next((each.id for connection in found for each in connection.calendars if each.receives), None)
    return page(
        "dashboard/calendars/overview.html",
        user,
        status=400 if target_form else 200,
        here=HERE,
        notice=notice,
        rows=[connection_row(each, user, now=work.now) for each in found],
        targets=_list_targets(found),
        receiving=str(receiving or ""),
        target_form=target_form or Form(),
        missing=len(await missing_events.list_missing(work, user)),
        is_two_way=await flags.is_enabled(work, FlagKey.CALENDAR_TWO_WAY, user_id=user.id),
        has_feeds=await flags.is_enabled(work, FlagKey.CALENDAR_FEEDS, user_id=user.id),
        feed_made=words.day(made_at, user.zone) if made_at else None,
        new_feed=new_feed,
    )


def _list_targets(found: list[CalendarConnection]) -> list[tuple[str, str]]:
    """List the calendars that can be written to, each with its connection."""
    return [
        (str(each.id), f"{each.name} · {connection.label}")
        for connection in found
        for each in connection.calendars
        if each.can_write
    ]


def _find_holder(found: list[CalendarConnection], calendar_id: str) -> CalendarConnection | None:
    ids: dict[UUID, CalendarConnection] = {each.id: connection for connection in found for each in connection.calendars}
    return next((connection for each, connection in ids.items() if str(each) == calendar_id), None)
