"""Pages: when a user's assistants ask first, what waits for the user's decision, and what they have done."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from openslot.domains.access.models import AsksFirst
from openslot.domains.accounts.models import User
from openslot.domains.bookings.models import BookingRef
from openslot.domains.bookings.operations import get_booking
from openslot.doors.assistants import activity, approvals
from openslot.doors.assistants.calls.operations import approve_waiting_call
from openslot.doors.assistants.words import OUTCOMES, name_tool
from openslot.doors.mcp.approvals import ApprovalStatus, is_expired
from openslot.doors.oauth import operations
from openslot.doors.oauth.models import AssistantApproval
from openslot.doors.oauth.rules import SCOPES
from openslot.doors.web.shared import words
from openslot.doors.web.shared.list_queries import link, read_before
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.errors import Conflict, NotFound
from openslot.platform.core.text import ReasonText
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Request, Response, get, post

ACCOUNT, APPROVALS, ACTIVITY = "/account", "/account/approvals", "/account/activity"
ROWS = 50
CHOICES = {
    AsksFirst.NEVER: Text("Never: it acts on its own"),
    AsksFirst.DESTRUCTIVE: Text("Before it changes, cancels or deletes something"),
    AsksFirst.WRITES: Text("Before everything that is not reading"),
}
STATES = {
    ApprovalStatus.PENDING: (Text("Waiting"), "wait"),
    ApprovalStatus.APPROVED: (Text("Approved"), "good"),
    ApprovalStatus.REJECTED: (Text("Declined"), "bad"),
    ApprovalStatus.EXPIRED: (Text("Expired"), "off"),
}
NOTICES = {
    "approved": Text("It was carried out. Your assistant gets the result when it asks for it."),
    "refused": Text("You approved it, but it could not be carried out. The activity says why."),
    "declined": Text("You declined it. Your assistant is told so."),
    "saved": Text("Saved. It counts from the next call on."),
}
# What people call the arguments that are shown before they decide; all others are shown as they are.
FIELDS = {
    "bookingId": Text("Booking"),
    "newStartTime": Text("New time"),
    "startTime": Text("From"),
    "endTime": Text("Until"),
    "reason": Text("Reason"),
    "eventType": Text("Event type"),
    "inviteeName": Text("Name"),
    "inviteeEmail": Text("Email address"),
    "notes": Text("Notes"),
}


class AsksFirstForm(Struct, frozen=True, kw_only=True):
    asks_first: AsksFirst = AsksFirst.NEVER


class DeclineCallForm(Struct, frozen=True, kw_only=True):
    reason: ReasonText = ReasonText("")


@get("/account/assistants/{grant_id}")
async def show_assistant(work: Work, user: User, grant_id: UUID, form: Form[AsksFirstForm] = Form()) -> Response:
    """Show what an assistant may do, and when it asks first."""
    assistant = await operations.get_assistant(work, user, grant_id)
    if not assistant.is_running(now=work.now):
        return redirect("/account#assistants")
    return page(
        "dashboard/assistants/assistant.html",
        user,
        here=ACCOUNT,
        notices=NOTICES,
        assistant=assistant,
        scope_names=SCOPES,
        choices=CHOICES,
        form=form.begin({"asks_first": assistant.asks_first}),
    )


@post("/account/assistants/{grant_id}", shows=show_assistant)
async def change_assistant(work: Work, user: User, grant_id: UUID, form: Form[AsksFirstForm]) -> Response:
    await operations.change_asks_first(work, user, grant_id, form.get().asks_first)
    return redirect(f"/account/assistants/{grant_id}?done=saved")


@get("/account/approvals")
async def show_approvals(work: Work, user: User) -> Response:
    """Show what assistants want the user to decide, and what was decided."""
    return page(
        "dashboard/assistants/approvals.html",
        user,
        here=ACCOUNT,
        notices=NOTICES,
        waiting=await approvals.list_waiting(work, user),
        decided=await approvals.list_decided(work, user),
        state_of=lambda each: STATES[_status(each, work)],
        name_tool=name_tool,
    )


@get("/account/approvals/{approval_id}")
async def show_approval(work: Work, user: User, approval_id: UUID, form: Form[DeclineCallForm] = Form()) -> Response:
    """Show what an assistant wants to do, with all that it has given."""
    approval, found = await approvals.get_approval(work, user, approval_id)
    status, given = _status(approval, work), dict(found or {})
    about = await _describe_booking(work, user, given)
    if about is not None:
        del given["bookingId"]
    return page(
        "dashboard/assistants/approval.html",
        user,
        here=ACCOUNT,
        approval=approval,
        state=STATES[status],
        may_decide=status is ApprovalStatus.PENDING,
        tool=name_tool(approval.tool),
        about=about,
        given=[
            (FIELDS.get(name, name), _show_time(value, user, work) or _show(value)) for name, value in given.items()
        ],
        form=form,
    )


def _status(approval: AssistantApproval, work: Work) -> ApprovalStatus:
    return ApprovalStatus.EXPIRED if is_expired(approval, now=work.now) else approval.status


async def _describe_booking(work: Work, user: User, given: Mapping[str, object]) -> Text | None:
    """Say which booking a call is about, as it is now."""
    try:
        details = await get_booking(work, BookingRef(UUID(str(given.get("bookingId"))), user.id))
    except (ValueError, NotFound):
        return None
    booking = details.booking
    return Text(
        "“%(event)s” with %(invitee)s, %(when)s",
        event=details.event_type.name,
        invitee=booking.invitee_name,
        when=words.day_and_hours(booking.starts_at, booking.ends_at, user.zone, now=work.now),
    )


def _show_time(value: object, user: User, work: Work) -> object:
    """Write a time as the user's clock shows it; None if the argument is something else."""
    try:
        read = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return words.at(read, user.zone, now=work.now) if read and read.tzinfo else None


def _show(value: object) -> str:
    """Write an argument for a person; of what is nested, each name and its value."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_show(each)}" for name, each in value.items())
    if isinstance(value, list):
        return ", ".join(_show(each) for each in value)
    return str(value)


@post("/account/approvals/{approval_id}/approve", shows=show_approval, at={Conflict: "form"}, own_status=True)
async def approve_call(work: Work, user: User, approval_id: UUID) -> Response:
    """Carry out what an assistant wants to do."""
    is_done = await approve_waiting_call(work, user, approval_id)
    return redirect(f"{APPROVALS}?done={'approved' if is_done else 'refused'}")


@post("/account/approvals/{approval_id}/decline", shows=show_approval, at={Conflict: "form"}, own_status=True)
async def decline_call(work: Work, user: User, approval_id: UUID, form: Form[DeclineCallForm]) -> Response:
    await approvals.decline(work, user, approval_id, reason=form.get().reason.strip() or None)
    return redirect(f"{APPROVALS}?done=declined")


@get("/account/activity")
async def show_activity(request: Request, work: Work, user: User) -> Response:
    """Show every call of the user's assistants, newest first."""
    found = await activity.list_calls(work, user, before_no=read_before(request), limit=ROWS + 1)
    return page(
        "dashboard/assistants/activity.html",
        user,
        here=ACCOUNT,
        rows=found[:ROWS],
        outcomes=OUTCOMES,
        name_tool=name_tool,
        days_kept=activity.CALLS_KEPT.days,
        is_first=not request.query.get("before"),
        first=ACTIVITY,
        older=link(ACTIVITY, {"before": found[ROWS - 1].no}) if len(found) > ROWS else None,
    )
