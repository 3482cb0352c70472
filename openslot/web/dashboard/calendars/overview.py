"""Pages: all calendar connections, where bookings are written to, the own feed, and events that have disappeared."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.core.errors import Conflict, Refusal
from openslot.core.work import Work
from openslot.flags import operations as flags
from openslot.flags.models import FlagKey
from openslot.i18n import Text
from openslot.integrations.calendars import booking_events
from openslot.integrations.calendars import host_changes as missing_events
from openslot.integrations.calendars import operations as calendars
from openslot.integrations.calendars.errors import (
    CalendarForbidden,
    CalendarGone,
    CalendarSignInFailed,
    CalendarUnreadable,
    show_failure,
)
from openslot.integrations.calendars.host_changes import Decision
from openslot.integrations.calendars.models import CalendarConnection, ConnectionChanges, ConnectionKind, ConnectionRef
from openslot.routing import Form, Request, Response, WhenEmpty, get, post
from openslot.web import words
from openslot.web.pages import page, redirect

SIGN_IN = str(CalendarSignInFailed())
KINDS = {ConnectionKind.CALDAV: Text("CalDAV account"), ConnectionKind.ICS: Text("Calendar feed, read only")}
# The choices of the form, by the policy that is sent.
POLICIES = {
    "close": Text("Stop offering times"),
    "trust:6": Text("Use the last known times for 6 hours"),
    "trust:24": Text("Use the last known times for a day"),
    "trust:72": Text("Use the last known times for 3 days"),
    "trust:168": Text("Use the last known times for a week"),
}
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
DONE = {Decision.CANCEL: "cancelled", Decision.RESTORE: "restored"}
DECIDED = Text("The list has changed. Review it again")


def find_server_fault(refusal: Refusal) -> tuple[str, Text]:
    """Name the field of the form for a calendar server that is to be corrected, and its fault."""
    if isinstance(refusal, CalendarSignInFailed):
        return "password", Text("was refused, or the user name is wrong. Many providers need an app password here")
    if isinstance(refusal, CalendarForbidden):
        return "username", Text("has no access to calendars on this server")
    if isinstance(refusal, CalendarGone | CalendarUnreadable):
        return "address", Text("does not lead to any calendars (%(reason)s)", reason=refusal.sentence)
    return "address", Text("can't be used (%(reason)s)", reason=refusal.sentence)


def find_feed_fault(refusal: Refusal) -> Text:
    """Say what is wrong with the address of a feed."""
    if isinstance(refusal, CalendarSignInFailed):
        return Text("needs a password. Use the secret address of the calendar, which needs none")
    if isinstance(refusal, CalendarGone | CalendarUnreadable):
        return Text("does not lead to a calendar (%(reason)s)", reason=refusal.sentence)
    return Text("can't be used (%(reason)s)", reason=refusal.sentence)


def advise(error: str) -> Text:
    """Say what to do about the error that a connection was last read with."""
    if error == SIGN_IN:
        return Text("Enter the new password below. Many providers need an app password.")
    return Text("We'll retry automatically. If the problem persists, test the connection, or reconnect the calendar.")


class ConnectionRow(Struct, frozen=True, kw_only=True):
    """A connection with its state in words."""

    id: UUID
    label: str
    kind: Text
    state: Text
    tone: str
    last_read: Text
    next_read: Text | None
    error: str | None
    advice: Text | None
    needs_password: bool
    busy: tuple[str, ...]
    """The names of the calendars that close times."""
    unread_events: int


def connection_row(connection: CalendarConnection, user: User, *, now: datetime) -> ConnectionRow:
    state, tone = _state(connection)
    is_due = connection.next_sync_at <= now
    return ConnectionRow(
        id=connection.id,
        label=connection.label,
        kind=KINDS[connection.kind],
        state=state,
        tone=tone,
        last_read=words.at(connection.synced_at, user.zone, now=now) if connection.synced_at else Text("not yet"),
        next_read=None if is_due else words.at(connection.next_sync_at, user.zone, now=now),
        error=show_failure(connection.last_error) if connection.last_error else None,
        advice=advise(connection.last_error) if connection.last_error else None,
        needs_password=connection.last_error == SIGN_IN and connection.kind is ConnectionKind.CALDAV,
        busy=tuple(each.name for each in connection.calendars if each.is_busy),
        unread_events=sum(each.unread_events for each in connection.calendars),
    )


def list_policies(chosen: str) -> dict[str, str]:
    """List the choices of what happens when a connection can't be read, with the one that was chosen elsewhere."""
    if chosen in POLICIES or not chosen.startswith("trust:"):
        return dict(POLICIES)
    own = Text("Use the last known times for %(hours)s hours", hours=chosen.removeprefix("trust:"))
    return {**POLICIES, chosen: own}


def policy_of(connection: CalendarConnection) -> str:
    """Return the policy as the form sends it."""
    return "close" if connection.trust_hours is None else f"trust:{connection.trust_hours}"


def _state(connection: CalendarConnection) -> tuple[Text, str]:
    if connection.failing_since is not None:
        return Text("Sync failed"), "bad"
    if connection.synced_at is None:
        return Text("Syncing"), ""
    return Text("Connected"), "good"


class TargetForm(Struct, frozen=True, kw_only=True):
    """The calendar that receives bookings; none if empty."""

    calendar: str = ""


@get("/settings/calendars")
async def show_calendars(request: Request, work: Work, user: User) -> Response:
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
    return await _show(work, user, new_feed=await booking_events.renew_feed(work, user))


@get("/settings/calendars/feed/end")
async def ask_to_end_feed(work: Work, user: User) -> Response:
    """Ask for confirmation before the secret link ends."""
    if await booking_events.find_feed(work, user) is None:
        return redirect(HERE)
    return page("dashboard/calendars/end_feed.html", user, here=HERE)


@post("/settings/calendars/feed/end")
async def end_feed(work: Work, user: User) -> Response:
    """Let the secret link lead nowhere."""
    await booking_events.revoke_feed(work, user)
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
    made_at = await booking_events.find_feed(work, user)
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


class MissingForm(Struct, frozen=True, kw_only=True):
    """Which bookings are decided about, and how."""

    decision: Annotated[Decision, WhenEmpty(Text("Choose one of these"))]
    booking: list[str] = []


@get("/settings/calendars/missing")
async def show_missing(work: Work, user: User) -> Response:
    """Show the bookings whose events have disappeared."""
    return await _show_missing(work, user, Form())


@post("/settings/calendars/missing")
async def decide(work: Work, user: User, form: Form[MissingForm]) -> Response:
    """Cancel the chosen bookings, or write their events again."""
    if form.faults:
        return await _show_missing(work, user, form)
    sent = form.get()
    if not sent.booking:
        return await _show_missing(work, user, form.with_faults({"booking": Text("Choose at least one booking")}))
    found = {str(each.booking_id): each.booking_id for each in await missing_events.list_missing(work, user)}
    if not found.keys() >= set(sent.booking):
        return await _show_missing(work, user, form.with_faults({"booking": DECIDED}))
    try:
        await missing_events.decide_missing(work, user, sent.decision, [found[each] for each in sent.booking])
    except Conflict as refusal:
        return await _show_missing(work, user, form.with_faults({"booking": refusal.sentence}))
    return redirect(f"{HERE}?done={DONE[sent.decision]}")


async def _show_missing(work: Work, user: User, form: Form[MissingForm]) -> Response:
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
                words.at(each.starts_at, user.zone, now=work.now),
                each.calendar_name,
            )
            for each in found
        ],
        form=form,
    )
