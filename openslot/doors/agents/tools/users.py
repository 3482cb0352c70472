"""Tools: users."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.models import Activity, User, UserSettings, UserStatus
from openslot.domains.accounts.plans import Plan
from openslot.domains.accounts.schemas import Me
from openslot.domains.people import operations as people
from openslot.doors.agents import registry
from openslot.doors.agents.models import Tier
from openslot.doors.agents.registry import USER, RequiredReason, Search, UserId, tool
from openslot.doors.agents.schemas import Decided
from openslot.doors.mcp.tools import Paging, RangePaging, inside, naming, read_given
from openslot.platform.core.errors import Invalid
from openslot.platform.core.shapes import Shape
from openslot.platform.core.text import EmailAddress
from openslot.platform.core.times import Instant
from openslot.platform.core.work import Work
from openslot.platform.routing.listings import Listing


class NewSettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The settings to change; those that are left out stay."""

    name: str | UnsetType = UNSET
    username: Annotated[str, Meta(description="First part of the booking page's address")] | UnsetType = UNSET
    timezone: Annotated[str, Meta(description="An IANA name", examples=["Europe/Berlin"])] | UnsetType = UNSET
    locale: Annotated[str, Meta(description="The language", examples=["de"])] | UnsetType = UNSET


class PlatformUser(Me, frozen=True, kw_only=True, rename="camel"):
    """A user, as the REST API shows it to the user, with what administrators know besides."""

    locale: Annotated[str, Meta(examples=["en"])]
    status: UserStatus
    disabled_at: Instant | None
    is_admin: Annotated[bool, Meta(description="Whether the user is an administrator of the platform")]


class ShownActor(Struct, frozen=True, kw_only=True, rename="camel"):
    """Who did something."""

    kind: Annotated[str, Meta(description="key, session, public, scim, agent, operator or system")]
    agent: str | None
    user_id: str | None


class ShownActivity(Struct, frozen=True, kw_only=True, rename="camel"):
    """One thing that happened."""

    id: str
    type: Annotated[str, Meta(examples=["booking.created"])]
    at: Instant
    actor: ShownActor
    subject_type: Annotated[str, Meta(description="What it happened to", examples=["booking"])]
    subject_id: str | None


class ShownSettings(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a user can choose."""

    user_id: str
    name: str
    username: str
    timezone: Annotated[str, Meta(examples=["Europe/Berlin"])]
    locale: Annotated[str, Meta(examples=["en"])]


class ChangedPlan(Decided, frozen=True, kw_only=True, rename="camel"):
    """The user with the new plan."""

    user: PlatformUser | None = None
    previous_plan: Plan | None = None


class DisabledUser(Decided, frozen=True, kw_only=True, rename="camel"):
    """The disabled user."""

    user: PlatformUser | None = None
    cancelled_bookings: Annotated[int, Meta(description="How many upcoming bookings were cancelled")] = 0


_USER = Shape(PlatformUser, User, given=("status",))
_show_settings = Shape(ShownSettings, User, names={"user_id": "id"}).show
_show_activity = Shape(ShownActivity, Activity).show


def show_user(user: User) -> PlatformUser:
    return _USER.show(user, status=UserStatus.DISABLED if user.disabled_at else UserStatus.ACTIVE)


@tool(scope="users:read")
async def list_users(
    work: Work,
    *,
    arguments: Paging,
    search: Annotated[
        Search | None, Meta(description="Part of the name or the email address, case-insensitive")
    ] = None,
    plan: Annotated[Plan | None, Meta(description="The user's own plan")] = None,
    status: UserStatus | None = None,
) -> Listing[PlatformUser]:
    """List the users of the platform, newest first, with their plan and whether the account is enabled.

    Use it to find a user by part of the name or email address, or to go through all users of a plan. It costs nothing
    and changes nothing.
    """
    found, total = await accounts.list_users(
        work, search=search, plan=plan, status=status, page=arguments.page, limit=arguments.limit
    )
    return arguments.show([show_user(user) for user in found], total)


@tool(scope="users:read", target=USER)
async def get_user(work: Work, *, user_id: UserId | None = None, email: EmailAddress | None = None) -> PlatformUser:
    """Get one user by id or by email address; specify exactly one of the two.

    Use it before you act on a user, to be sure that it is the right one. It costs nothing and changes nothing.
    """
    if user_id is not None and email is not None:
        raise Invalid(details={"email": "must not be combined with userId"})
    if user_id is not None:
        return show_user(await registry.get_named_user(work, user_id))
    if email is None:
        raise Invalid(details={"userId": "is required without email"})
    with naming("email"):
        return show_user(await accounts.get_user_by_email(work, email))


@tool(scope="users:read", target=USER)
async def get_user_activity(work: Work, *, arguments: RangePaging, user_id: UserId) -> Listing[ShownActivity]:
    """List what happened to a user's account, bookings, contacts and calendars, newest first, and who did it.

    Use it to understand what a user reports: who cancelled, when a plan was changed. Events are kept for 90 days, or as
    long as the operator has configured. It costs nothing and changes nothing.
    """
    user = await registry.get_named_user(work, user_id)
    found, total = await accounts.list_activity(
        work, user, span=arguments.span, page=arguments.page, limit=arguments.limit
    )
    return arguments.show([_show_activity(each) for each in found], total)


@tool(scope="users:read", target=USER)
async def get_user_settings(work: Work, *, user_id: UserId) -> ShownSettings:
    """Get what a user has chosen: name, username, time zone and language.

    Use it before update_user_settings, or to write to a user in the right language. It costs nothing and changes
    nothing.
    """
    return _show_settings(await registry.get_named_user(work, user_id))


@tool(scope="users:write", tier=Tier.T3, target=USER, is_destructive=True)
async def change_user_plan(work: Work, *, user_id: UserId, plan: Plan, reason: RequiredReason) -> ChangedPlan:
    """Change a user's own plan, at once and without an end.

    A lower plan closes what it does not include: without PRO or BUSINESS the user's API keys stop working, unless a
    trial or an organization gives the plan. It needs confirm: true and an approval by the Orchestrator. It costs
    nothing.
    """
    user = await registry.get_named_user(work, user_id)
    changed = await accounts.set_user_plan(work, user, plan, reason=reason)
    return ChangedPlan(user=show_user(changed), previous_plan=user.plan)


@tool(scope="users:write", tier=Tier.T2, target=USER)
async def update_user_settings(work: Work, *, user_id: UserId, settings: NewSettings) -> ShownSettings:
    """Change a user's name, username, time zone or language; omitted settings stay unchanged.

    A new username changes the address of the booking page. The old one stays reserved for the user for 180 days, and
    its links lead to the new one, so it can be undone by changing back. The username of an administrator can't be
    changed. The time zone is that of the account; the working hours of existing schedules stay as they are. It needs
    confirm: true and costs nothing.
    """
    given = read_given(settings, argument="settings")
    if "timezone" in given:
        given["zone"] = given.pop("timezone")
    user = await registry.get_named_user(work, user_id)
    with inside("settings"):
        return _show_settings(await accounts.change_user_settings(work, user, UserSettings(**given)))


@tool(scope="users:write", tier=Tier.T3, target=USER, is_destructive=True, reaches_outside=True)
async def disable_user(work: Work, *, user_id: UserId, reason: RequiredReason) -> DisabledUser:
    """Disable a user's account: sign-in, API keys and booking page stop working, and sessions end.

    All upcoming bookings of the user are cancelled, and the invitees are notified by email; they do not come back if an
    administrator enables the account again. The last administrator of the platform can't be disabled. It needs confirm:
    true and an approval by the Orchestrator. It costs nothing.
    """
    user = await registry.get_named_user(work, user_id)
    cancelled = await people.disable_user(work, user, reason=reason)
    shown = show_user(await accounts.get_user(work, user.id))
    return DisabledUser(user=shown, cancelled_bookings=cancelled)
