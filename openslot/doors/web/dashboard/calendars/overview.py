"""Pages: all calendar connections, where bookings are written to, the own feed, and events that have disappeared."""

from typing import Annotated, Any

from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.calendars import booking_events, errors
from openslot.domains.calendars.host_changes import Decision, decide_missing_events, list_missing_events
from openslot.domains.calendars.models import CalendarConnection, ConnectionChanges, ConnectionKind, ConnectionRef
from openslot.domains.calendars.operations import change_calendar_connection, list_calendar_connections
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.errors import Conflict, Invalid, Refusal
from openslot.platform.core.work import Work
from openslot.platform.flags.models import FlagKey
from openslot.platform.flags.operations import is_enabled
from openslot.platform.i18n import Text, recall
from openslot.platform.routing import Form, Response, WhenEmpty, get, post

SIGN_IN = errors.SIGN_IN_REFUSED.kept
CONSENT = errors.CONSENT_NEEDED.kept
KINDS = {
    ConnectionKind.CALDAV: Text("CalDAV account"),
    ConnectionKind.ICS: Text("Calendar feed, read only"),
    ConnectionKind.GOOGLE: Text("Google Calendar"),
    ConnectionKind.MICROSOFT: Text("Microsoft 365"),
}
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


def find_server_fault(refusal: Refusal) -> tuple[str, Text]:
    """Name the field of the form for a calendar server that is to be corrected, and its fault."""
    if isinstance(refusal, errors.CalendarSignInFailed):
        return "password", Text("was refused, or the user name is wrong. Many providers need an app password here")
    if isinstance(refusal, errors.CalendarForbidden):
        return "username", Text("has no access to calendars on this server")
    if isinstance(refusal, errors.CalendarGone | errors.CalendarUnreadable):
        return "address", Text("does not lead to any calendars (%(reason)s)", reason=refusal.sentence)
    return "address", Text("can't be used (%(reason)s)", reason=refusal.sentence)


def find_feed_fault(refusal: Refusal) -> Text:
    if isinstance(refusal, errors.CalendarSignInFailed):
        return Text("needs a password. Use the secret address of the calendar, which needs none")
    if isinstance(refusal, errors.CalendarGone | errors.CalendarUnreadable):
        return Text("does not lead to a calendar (%(reason)s)", reason=refusal.sentence)
    return Text("can't be used (%(reason)s)", reason=refusal.sentence)


def advise(error: str) -> Text:
    """Say what to do about the error that a connection was last read with."""
    if error == SIGN_IN:
        return Text("Enter the new password below. Many providers need an app password.")
    if error == CONSENT:
        return Text("Open the connection and connect the account again.")
    return Text("We'll retry automatically. If the problem persists, test the connection, or reconnect the calendar.")


def needs_password(connection: CalendarConnection) -> bool:
    return connection.last_error == SIGN_IN and connection.kind is ConnectionKind.CALDAV


def needs_consent(connection: CalendarConnection) -> bool:
    return connection.last_error == CONSENT


def find_state(connection: CalendarConnection) -> tuple[Text, str]:
    """Say whether a connection works, with the tone."""
    if connection.failing_since is not None:
        return Text("Sync failed"), "bad"
    if connection.synced_at is None:
        return Text("Syncing"), "wait"
    return Text("Connected"), "good"


CONNECTION_WORDS: dict[str, Any] = {
    "kinds": KINDS,
    "find_state": find_state,
    "show_failure": recall,
    "advise": advise,
    "needs_password": needs_password,
    "needs_consent": needs_consent,
}


def list_policies(chosen: str) -> dict[str, str]:
    """List the choices of what happens when a connection can't be read, with the one that was chosen elsewhere."""
    if chosen in POLICIES or not chosen.startswith("trust:"):
        return dict(POLICIES)
    own = Text("Use the last known times for %(hours)s hours", hours=chosen.removeprefix("trust:"))
    return {**POLICIES, chosen: own}


def policy_of(connection: CalendarConnection) -> str:
    """Return the policy as the form sends it."""
    return "close" if connection.trust_hours is None else f"trust:{connection.trust_hours}"


class TargetForm(Struct, frozen=True, kw_only=True):
    """The calendar that receives bookings; none if empty."""

    calendar: str = ""


@get("/settings/calendars")
async def show_calendars(work: Work, user: User, form: Form[TargetForm] = Form()) -> Response:
    return await _show(work, user, form)


@post("/settings/calendars/target", shows=show_calendars, at={Conflict: "calendar"})
async def choose_target(work: Work, user: User, form: Form[TargetForm]) -> Response:
    """Choose the calendar that bookings are written to."""
    found, chosen = await list_calendar_connections(work, user), form.get().calendar
    holders = [each for each in found if not chosen or chosen in {str(calendar.id) for calendar in each.calendars}]
    if not holders:
        raise Invalid(details={"calendar": GONE})
    await change_calendar_connection(work, ConnectionRef(holders[0].id, user.id), ConnectionChanges(write_to=chosen))
    return redirect(f"{HERE}?done=target")


@post("/settings/calendars/feed")
async def renew_own_feed(work: Work, user: User) -> Response:
    """Make the secret link to one's bookings and show it once, in this response."""
    return await _show(work, user, Form(), new_feed=await booking_events.renew_feed(work, user))


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


async def _show(work: Work, user: User, form: Form[TargetForm], *, new_feed: str | None = None) -> Response:
    found = await list_calendar_connections(work, user)
    made_at = await booking_events.find_feed(work, user)
    receiving = next((each.id for connection in found for each in connection.calendars if each.receives), None)
    return page(
        "dashboard/calendars/overview.html",
        user,
        here=HERE,
        notices=NOTICES,
        rows=found,
        **CONNECTION_WORDS,
        targets=[
            (str(each.id), f"{each.name} · {connection.label}")
            for connection in found
            for each in connection.calendars
            if each.can_write
        ],
        receiving=str(receiving or ""),
        form=form,
        missing=len(await list_missing_events(work, user)),
        is_two_way=await is_enabled(work, FlagKey.CALENDAR_TWO_WAY, user_id=user.id),
        has_feeds=await is_enabled(work, FlagKey.CALENDAR_FEEDS, user_id=user.id),
        feed_made=made_at,
        new_feed=new_feed,
    )


class MissingForm(Struct, frozen=True, kw_only=True):
    decision: Annotated[Decision, WhenEmpty(Text("Choose one of these"))]
    booking: list[str] = []


@get("/settings/calendars/missing")
async def show_missing(work: Work, user: User, form: Form[MissingForm] = Form()) -> Response:
    """Show the bookings whose events have disappeared."""
    found = await list_missing_events(work, user)
    if not found and not form.faults:
        return redirect(HERE)
    return page("dashboard/calendars/missing.html", user, here=HERE, found=found, form=form)


@post("/settings/calendars/missing", shows=show_missing, at={Conflict: "booking"})
async def decide(work: Work, user: User, form: Form[MissingForm]) -> Response:
    """Cancel the chosen bookings, or write their events again."""
    sent = form.get()
    if not sent.booking:
        raise Invalid(details={"booking": Text("Choose at least one booking")})
    found = {str(each.booking_id): each.booking_id for each in await list_missing_events(work, user)}
    if not found.keys() >= set(sent.booking):
        raise Invalid(details={"booking": Text("The list has changed. Review it again")})
    await decide_missing_events(work, user, sent.decision, [found[each] for each in sent.booking])
    return redirect(f"{HERE}?done={DONE[sent.decision]}")
