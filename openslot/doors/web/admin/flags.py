"""Pages: feature flags, for everyone and for single users."""

from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, Struct

from openslot.domains.accounts.errors import UserNotFound
from openslot.domains.accounts.models import User
from openslot.domains.accounts.operations import get_user_by_email, list_users_by_id
from openslot.domains.change_log.models import ChangeAction
from openslot.doors.web.admin.change_log import log_platform
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.text import LINE
from openslot.platform.core.work import Work
from openslot.platform.flags.operations import (
    get_flag,
    list_flags,
    list_overrides,
    remove_override,
    set_override,
    toggle_flag,
)
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Request, Response, WhenEmpty, get, post

NOTICES = {
    "on": Text("The feature is on. This takes effect within a second."),
    "off": Text("The feature is off. This takes effect within a second."),
    "override": Text("The setting for this user was saved."),
    "removed": Text("The user now has the same setting as everyone else."),
}


class ToggleForm(Struct, frozen=True, kw_only=True):
    enabled: Annotated[Literal["on", "off"], WhenEmpty(Text("Choose on or off"))]


class FlagForUserForm(Struct, frozen=True, kw_only=True):
    email: Annotated[str, Meta(pattern=LINE, max_length=254), WhenEmpty(Text("Enter the user's email address"))]
    enabled: Annotated[Literal["on", "off"], WhenEmpty(Text("Choose on or off"))]


@get("/admin/flags")
async def show_flags(work: Work, user: User) -> Response:
    found = await list_flags(work)
    return page("admin/flags.html", user, here="/admin/flags", flags=found)


@get("/admin/flags/{key}")
async def show_flag(work: Work, user: User, key: str, form: Form[FlagForUserForm] = Form()) -> Response:
    flag = await get_flag(work, key)
    overrides = await list_overrides(work, flag)
    people = await list_users_by_id(work, [each.user_id for each in overrides])
    return page(
        "admin/flag.html",
        user,
        here="/admin/flags",
        notices=NOTICES,
        flag=flag,
        form=form,
        overrides=[(each, people[each.user_id]) for each in overrides if each.user_id in people],
    )


@post("/admin/flags/{key}")
async def switch_flag(request: Request, work: Work, user: User, key: str, form: Form[ToggleForm]) -> Response:
    """Switch a feature on or off for everyone who has no override."""
    if form.faults:
        return redirect(f"/admin/flags/{key}")
    enabled, flag = form.get().enabled, await get_flag(work, key)
    changed = await toggle_flag(work, key, enabled=enabled == "on")
    before, after = {"enabled": flag.enabled}, {"enabled": changed.enabled}
    await log_platform(work, request, user, ChangeAction.FLAG_SWITCHED, key, before=before, after=after)
    return redirect(f"/admin/flags/{key}?done={enabled}")


@post("/admin/flags/{key}/overrides", shows=show_flag, at={UserNotFound: "email"})
async def set_flag_override(
    request: Request, work: Work, user: User, key: str, form: Form[FlagForUserForm]
) -> Response:
    sent = form.get()
    owner = await get_user_by_email(work, sent.email.strip())
    found = await set_override(work, key, owner.id, enabled=sent.enabled == "on")
    after = {"user": owner.email, "enabled": found.enabled}
    await log_platform(work, request, user, ChangeAction.FLAG_SET_FOR_USER, key, subject_id=owner.id, after=after)
    return redirect(f"/admin/flags/{key}?done=override")


@post("/admin/flags/{key}/overrides/{user_id}/remove")
async def remove_flag_override(request: Request, work: Work, user: User, key: str, user_id: UUID) -> Response:
    """Let a flag be for a user what it is for everyone."""
    found = await remove_override(work, key, user_id)
    after = {"enabled": found.enabled}
    await log_platform(work, request, user, ChangeAction.FLAG_RESET_FOR_USER, key, subject_id=user_id, after=after)
    return redirect(f"/admin/flags/{key}?done=removed")
