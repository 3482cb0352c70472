"""Pages: agents' calls that wait for a person's decision, and what became of each call."""

from collections.abc import Awaitable, Callable, Mapping
from uuid import UUID

import msgspec
from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.accounts.operations import get_user
from openslot.domains.accounts.plans import PLANS_WITH_API, Plan
from openslot.domains.bookings.models import AgendaFilter, AgendaView, BookingRef, Status
from openslot.domains.bookings.operations import get_booking, list_agenda
from openslot.domains.change_log.models import ChangeAction
from openslot.doors.agents.approvals.operations import (
    ApprovalDecision,
    Verdict,
    get_approval,
    list_decided_approvals,
    list_pending_approvals,
)
from openslot.doors.agents.calls import decide
from openslot.doors.agents.errors import ApprovalRefused
from openslot.doors.agents.roster import ROSTER
from openslot.doors.agents.rules import PERSON, Approval
from openslot.doors.mcp.approvals import ApprovalStatus
from openslot.doors.web.admin.change_log import log_platform
from openslot.doors.web.admin.messaging import CHANNELS, describe_switch
from openslot.doors.web.shared import words
from openslot.doors.web.shared.days import DayOfRows, by_day
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.errors import Conflict, NotFound
from openslot.platform.core.ids import parse_id
from openslot.platform.core.text import ReasonText
from openslot.platform.core.work import Work
from openslot.platform.flags.models import ALL
from openslot.platform.i18n import PluralText, Text
from openslot.platform.routing import Form, Request, Response, get, post

MAX_BOOKINGS = 25

Arguments = Mapping[str, object]
# What records have in place of the id of an agent's request.
FROM = "dashboard"
STATES = {
    ApprovalStatus.PENDING: (Text("Waiting"), "wait"),
    ApprovalStatus.APPROVED: (Text("Approved"), "good"),
    ApprovalStatus.REJECTED: (Text("Rejected"), "bad"),
    ApprovalStatus.EXPIRED: (Text("Expired"), "off"),
}
NOTICES = {
    "approved": Text("The call was approved and carried out."),
    "refused": Text("The call was approved, but it could not be carried out. The tool audit says why."),
    "rejected": Text("The call was rejected. The agent will see this when it asks for the result."),
}


class OutcomePreview(Struct, frozen=True, kw_only=True):
    sentences: tuple[Text, ...] = ()
    days: list[DayOfRows] = []
    """The bookings that would be cancelled."""
    more: int = 0
    """How many of them are not listed."""


async def describe_outcome(work: Work, reader: User, approval: Approval) -> OutcomePreview:
    """Look up what a call is about as it is now."""
    describe = DESCRIBED.get(approval.tool)
    if describe is None:
        return OutcomePreview()
    try:
        return await describe(work, reader, approval.arguments or {})
    except NotFound:
        return OutcomePreview(sentences=(Text("The target no longer exists, so the call would be refused."),))


async def list_closing(work: Work, reader: User, user: User) -> OutcomePreview:
    found = await list_agenda(work, user, AgendaFilter(view=AgendaView.UPCOMING, of_teams=True), limit=MAX_BOOKINGS)
    return OutcomePreview(
        sentences=(
            Text("%(name)s can no longer sign in, and the booking page and the API keys stop working.", name=user.name),
            PluralText(
                "%(count)s upcoming booking will be cancelled, and the invitee will be notified by email.",
                "%(count)s upcoming bookings will be cancelled, and the invitees will be notified by email.",
                count=found.total,
            )
            if found.total
            else Text("There are no upcoming bookings to cancel."),
        ),
        days=by_day(found.entries, reader, failed={}, now=work.now),
        more=max(found.total - MAX_BOOKINGS, 0),
    )


async def _cancel_booking(work: Work, reader: User, arguments: Arguments) -> OutcomePreview:
    details = await get_booking(work, BookingRef(_id_of(arguments, "bookingId"), None))
    booking = details.booking
    host = await get_user(work, booking.host_id)
    when = words.day_and_hours(booking.starts_at, booking.ends_at, reader.zone, now=work.now)
    about = Text(
        "“%(event)s” of %(host)s with %(invitee)s, %(when)s",
        event=details.event_type.name,
        host=host.name,
        invitee=booking.invitee_name,
        when=when,
    )
    if booking.status is Status.CANCELLED:
        return OutcomePreview(sentences=(about, Text("It is already cancelled, so nothing would change.")))
    if booking.ends_at <= work.now:
        return OutcomePreview(sentences=(about, Text("It is over, so the call would be refused.")))
    outcome = Text("It will be cancelled and its time freed. The host, invitee and guests will be notified by email.")
    return OutcomePreview(sentences=(about, outcome))


async def _change_user_plan(work: Work, reader: User, arguments: Arguments) -> OutcomePreview:
    user = await get_user(work, _id_of(arguments, "userId"))
    plan = Plan(str(arguments.get("plan")))
    changes = Text(
        "%(name)s (%(email)s) gets the plan %(plan)s instead of %(before)s.",
        name=user.name,
        email=user.email,
        plan=words.PLANS[plan],
        before=words.PLANS[user.plan],
    )
    if user.plan in PLANS_WITH_API and plan not in PLANS_WITH_API:
        lost = Text("API keys stop working, unless a trial or an organization gives the plan.")
        return OutcomePreview(sentences=(changes, lost))
    return OutcomePreview(sentences=(changes,))


async def _disable_user(work: Work, reader: User, arguments: Arguments) -> OutcomePreview:
    return await list_closing(work, reader, await get_user(work, _id_of(arguments, "userId")))


async def _switch_messaging(work: Work, reader: User, arguments: Arguments) -> OutcomePreview:
    channel = str(arguments.get("channel", ALL))
    about = Text("Outgoing messages: %(channel)s", channel=CHANNELS[channel])
    happens = await describe_switch(work, channel, is_stop=arguments.get("enabled") is True)
    return OutcomePreview(sentences=(about, *happens))


def _id_of(arguments: Arguments, name: str) -> UUID:
    return parse_id(str(arguments.get(name)))


DESCRIBED: dict[str, Callable[[Work, User, Arguments], Awaitable[OutcomePreview]]] = {
    "cancel_booking": _cancel_booking,
    "change_user_plan": _change_user_plan,
    "disable_user": _disable_user,
    "set_messaging_kill_switch": _switch_messaging,
}


class RejectForm(Struct, frozen=True, kw_only=True):
    reason: ReasonText = ""


@get("/admin/approvals")
async def show_approvals(work: Work, user: User) -> Response:
    return page(
        "admin/approvals.html",
        user,
        here="/admin/approvals",
        notices=NOTICES,
        waiting=await list_pending_approvals(work),
        decided=await list_decided_approvals(work, limit=20),
        states=STATES,
        roster=ROSTER,
    )


@get("/admin/approvals/{approval_id}")
async def show_approval(work: Work, user: User, approval_id: UUID, form: Form[RejectForm] = Form()) -> Response:
    approval = await get_approval(work, approval_id)
    outcome = await describe_outcome(work, user, approval) if approval.arguments is not None else OutcomePreview()
    return page(
        "admin/approval.html",
        user,
        here="/admin/approvals",
        approval=approval,
        states=STATES,
        roster=ROSTER,
        may_decide=approval.status is ApprovalStatus.PENDING and approval.expires_at > work.now,
        arguments=_write_arguments(approval),
        outcome=outcome,
        form=form,
    )


@post("/admin/approvals/{approval_id}/approve", shows=show_approval, at={Conflict: "form"}, own_status=True)
async def approve_call(request: Request, work: Work, user: User, approval_id: UUID) -> Response:
    """Approve a call and carry it out for the agent."""
    verdict = await _decide(work, approval_id, "approve")
    await _log(work, request, user, ChangeAction.CALL_APPROVED, verdict)
    return redirect(f"/admin/approvals?done={'refused' if verdict.is_error else 'approved'}")


@post("/admin/approvals/{approval_id}/reject", shows=show_approval, at={Conflict: "form"}, own_status=True)
async def reject_call(request: Request, work: Work, user: User, approval_id: UUID, form: Form[RejectForm]) -> Response:
    reason = form.get().reason.strip() or None
    verdict = await _decide(work, approval_id, "reject", reason=reason)
    await _log(work, request, user, ChangeAction.CALL_REJECTED, verdict, reason=reason)
    return redirect("/admin/approvals?done=rejected")


async def _decide(work: Work, approval_id: UUID, verb: ApprovalDecision, *, reason: str | None = None) -> Verdict:
    try:
        return await decide(work, approval_id, verb, approver=PERSON, request_id=FROM, reason=reason)
    except (ApprovalRefused, NotFound) as refusal:
        raise Conflict(refusal.sentence) from None


async def _log(
    work: Work, request: Request, user: User, action: ChangeAction, verdict: Verdict, *, reason: str | None = None
) -> None:
    tool = verdict.approval.tool if verdict.approval else None
    after = {"tool": tool, **({"reason": reason} if reason else {})}
    await log_platform(work, request, user, action, verdict.agent, subject_id=verdict.approval_id, after=after)


def _write_arguments(approval: Approval) -> str | None:
    if approval.arguments is None:
        return None
    return msgspec.json.format(msgspec.json.encode(approval.arguments), indent=2).decode()
