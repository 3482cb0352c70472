"""Pages: all users, and what an administrator may do about one."""

from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import Struct

from openslot.domains.access.operations import end_sessions
from openslot.domains.accounts.errors import LastAdministratorRequired
from openslot.domains.accounts.models import User, UserStatus
from openslot.domains.accounts.operations import (
    get_user,
    list_activity,
    list_plan_grants,
    list_users,
    set_admin,
    set_user_enabled,
    set_user_plan,
)
from openslot.domains.accounts.plans import Plan
from openslot.domains.change_log.models import ChangeAction, Fields
from openslot.domains.people.operations import disable_user
from openslot.domains.plans.operations import clear_user_plan
from openslot.doors.web.admin.approvals import list_closing
from openslot.doors.web.admin.change_log import NOTHING, log_platform
from openslot.doors.web.shared import words
from openslot.doors.web.shared.list_queries import read_list_query
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.moments import Span
from openslot.platform.core.text import ReasonText
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Request, Response, WhenEmpty, get, post

ROWS, SHOWN_ACTIVITY = 50, 20
STATUSES = {UserStatus.ACTIVE: Text("Active"), UserStatus.DISABLED: Text("Disabled")}
NOTICES = {
    "plan": Text("The plan was changed."),
    "disabled": Text("The account was disabled, and its upcoming bookings were cancelled."),
    "enabled": Text("The account was enabled. Cancelled bookings stay cancelled."),
    "signed-out": Text("The user was signed out on all devices."),
    "admin": Text("The user is an administrator of the platform now."),
    "not-admin": Text("The user is no longer an administrator of the platform."),
}


class PlanForm(Struct, frozen=True, kw_only=True):
    plan: Annotated[Plan, WhenEmpty(Text("Choose a plan"))]


ADMINISTRATION = Text(
    "Administrators see all users, organizations, emails and backups. They change plans, decide for agents and disable "
    "accounts."
)


class AdminForm(Struct, frozen=True, kw_only=True):
    admin: Literal["yes", "no"] = "yes"


class DisableForm(Struct, frozen=True, kw_only=True):
    reason: ReasonText = ""


@get("/admin/users")
async def show_users(request: Request, work: Work, user: User) -> Response:
    choices: dict[str, list[str]] = {"plan": list(Plan), "status": list(UserStatus)}
    query = read_list_query(request, user, "/admin/users", "q", "plan", "status", choices=choices)
    plan, status = query["plan"], query["status"]
    found, total = await list_users(
        work,
        search=query["q"] or None,
        plan=Plan(plan) if plan else None,
        status=UserStatus(status) if status else None,
        page=query.page,
        limit=ROWS,
    )
    return page(
        "admin/users.html",
        user,
        here="/admin/users",
        pager=query.pager_of_uncounted(has_more=query.page * ROWS < total),
        form=query.form,
        rows=found,
        total=total,
        plans=words.PLANS,
        statuses=STATUSES,
    )


@get("/admin/users/{user_id}")
async def show_user_account(work: Work, user: User, user_id: UUID, form: Form[Any] = Form()) -> Response:
    owner = await get_user(work, user_id)
    grants = await list_plan_grants(work, owner)
    activity, _ = await list_activity(work, owner, span=Span(), limit=SHOWN_ACTIVITY)
    return page(
        "admin/user.html",
        user,
        here="/admin/users",
        notices=NOTICES,
        owner=owner,
        plan=words.plan(grants, zone=user.zone, now=work.now),
        plans=words.PLANS,
        sells_plans=work.runtime.settings.stripe_key is not None,
        is_self=owner.id == user.id,
        form=form,
        activity=activity,
    )


@post("/admin/users/{user_id}/clear-plan")
async def clear_plan(request: Request, work: Work, user: User, user_id: UUID) -> Response:
    """Let a user's plan follow their subscription again."""
    owner = await get_user(work, user_id)
    cleared = await clear_user_plan(work, owner)
    fields = {"before": {"plan": owner.plan}, "after": {"plan": cleared.plan}}
    await log_user(work, request, user, ChangeAction.PLAN_CHANGED, owner, **fields)
    return redirect(f"/admin/users/{user_id}?done=plan")


@post("/admin/users/{user_id}/plan", shows=show_user_account)
async def change_plan(request: Request, work: Work, user: User, user_id: UUID, form: Form[PlanForm]) -> Response:
    """Give a user another plan, without an end."""
    owner = await get_user(work, user_id)
    changed = await set_user_plan(work, owner, form.get().plan)
    fields = {"before": {"plan": owner.plan}, "after": {"plan": changed.plan}}
    await log_user(work, request, user, ChangeAction.PLAN_CHANGED, owner, **fields)
    return redirect(f"/admin/users/{user_id}?done=plan")


@get("/admin/users/{user_id}/administrator")
async def ask_to_make_administrator(work: Work, user: User, user_id: UUID) -> Response:
    owner = await get_user(work, user_id)
    if owner.is_admin:
        return redirect(f"/admin/users/{user_id}")
    return page(
        "confirm.html",
        user,
        here="/admin/users",
        title=Text("Make %(name)s an administrator?", name=owner.name),
        explanation=ADMINISTRATION,
        yes=Text("Make administrator"),
        back=f"/admin/users/{user_id}",
        no=Text("Go back"),
    )


@post(
    "/admin/users/{user_id}/administrator",
    shows=show_user_account,
    at={LastAdministratorRequired: "admin"},
    own_status=True,
)
async def change_administrator(
    request: Request, work: Work, user: User, user_id: UUID, form: Form[AdminForm]
) -> Response:
    is_admin = form.get().admin == "yes"
    owner = await get_user(work, user_id)
    await set_admin(work, owner, is_admin=is_admin)
    fields = {"before": {"administrator": owner.is_admin}, "after": {"administrator": is_admin}}
    await log_user(work, request, user, ChangeAction.ADMINISTRATOR_CHANGED, owner, **fields)
    return redirect(f"/admin/users/{user_id}?done={'admin' if is_admin else 'not-admin'}")


@post("/admin/users/{user_id}/sign-out")
async def sign_user_out(request: Request, work: Work, user: User, user_id: UUID) -> Response:
    owner = await get_user(work, user_id)
    await end_sessions(work, owner)
    await log_user(work, request, user, ChangeAction.USER_SIGNED_OUT, owner)
    return redirect(f"/admin/users/{user_id}?done=signed-out")


@get("/admin/users/{user_id}/disable")
async def ask_to_disable(work: Work, user: User, user_id: UUID, form: Form[DisableForm] = Form()) -> Response:
    owner = await get_user(work, user_id)
    if owner.disabled_at is not None:
        return redirect(f"/admin/users/{user_id}")
    return page(
        "admin/disable_user.html",
        user,
        here="/admin/users",
        owner=owner,
        outcome=await list_closing(work, user, owner),
        form=form,
    )


@post("/admin/users/{user_id}/disable", shows=ask_to_disable, at={LastAdministratorRequired: "form"}, own_status=True)
async def disable_account(request: Request, work: Work, user: User, user_id: UUID, form: Form[DisableForm]) -> Response:
    """Close an account and cancel its upcoming bookings."""
    reason = form.get().reason.strip() or None
    owner = await get_user(work, user_id)
    cancelled = await disable_user(work, owner, reason=reason)
    after = {"active": False, "reason": reason, "cancelled_bookings": cancelled}
    await log_user(work, request, user, ChangeAction.USER_DISABLED, owner, before={"active": True}, after=after)
    return redirect(f"/admin/users/{user_id}?done=disabled")


@post("/admin/users/{user_id}/enable")
async def enable_account(request: Request, work: Work, user: User, user_id: UUID) -> Response:
    owner = await get_user(work, user_id)
    await set_user_enabled(work, owner)
    fields = {"before": {"active": owner.disabled_at is None}, "after": {"active": True}}
    await log_user(work, request, user, ChangeAction.USER_ENABLED, owner, **fields)
    return redirect(f"/admin/users/{user_id}?done=enabled")


async def log_user(
    work: Work,
    request: Request,
    user: User,
    action: ChangeAction,
    owner: User,
    *,
    before: Fields = NOTHING,
    after: Fields = NOTHING,
) -> None:
    subject = f"{owner.name} <{owner.email}>"
    await log_platform(work, request, user, action, subject, subject_id=owner.id, before=before, after=after)
