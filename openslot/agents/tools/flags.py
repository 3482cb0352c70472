"""Tools: feature flags."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from openslot.accounts import operations as accounts
from openslot.agents.models import Tier, ToolCall
from openslot.agents.registry import CallTarget, tool
from openslot.agents.tools.arguments import Search, ToolArguments, UserId, naming
from openslot.core.moments import Instant, iso
from openslot.core.text import LINE
from openslot.core.work import Work
from openslot.flags import operations as flags
from openslot.flags.models import Flag, FlagForUser

Key = Annotated[str, Meta(pattern=LINE, max_length=100, description="The flag's key", examples=["booking_holds"])]


class ListFlags(ToolArguments, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which flags."""

    search: Annotated[Search, Meta(description="Part of the key or the description, case-insensitive")] = ""


class GetFlag(ToolArguments, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which flag."""

    key: Key


class CheckFlag(GetFlag, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which flag, for which user."""

    user_id: UserId


class ToggleFlag(GetFlag, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which flag, and what it is to be for everyone."""

    enabled: bool


class SetFlagOverride(CheckFlag, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which flag, and what it is to be for one user."""

    enabled: bool


class ShownFlag(Struct, frozen=True, kw_only=True, rename="camel"):
    """A feature flag."""

    key: Annotated[str, Meta(examples=["booking_holds"])]
    description: Annotated[str, Meta(description="What it switches")]
    enabled: Annotated[bool, Meta(description="Whether it is on for everyone who has no override")]
    override_count: Annotated[int, Meta(description="For how many users it is set separately")]
    updated_at: Instant


class FlagList(Struct, frozen=True, kw_only=True):
    """All matching flags, by key."""

    data: list[ShownFlag]


class ShownFlagOverride(Struct, frozen=True, kw_only=True, rename="camel"):
    """A user for whom a flag is set separately."""

    user_id: str
    enabled: bool
    updated_at: Instant


class DetailedFlag(ShownFlag, frozen=True, kw_only=True, rename="camel"):
    """A feature flag with the users for whom it is set separately."""

    overrides: Annotated[list[ShownFlagOverride], Meta(description="The latest 100")]


class ShownFlagForUser(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a flag is for one user."""

    key: str
    user_id: str
    enabled: bool
    source: Annotated[
        Literal["override", "everyone"], Meta(description="Whether it is set for this user, or for everyone")
    ]


def _target(arguments: GetFlag) -> CallTarget:
    return CallTarget("flag", arguments.key)


@tool(scope="flags:read")
async def list_flags(work: Work, call: ToolCall, arguments: ListFlags) -> FlagList:
    """List the feature flags: what each switches in the product, and whether it is on for everyone.

    Use it to find the key of a flag before you check or change it. It costs nothing and changes nothing.
    """
    del call
    return FlagList(data=[_show(flag) for flag in await flags.list_flags(work, search=arguments.search)])


@tool(scope="flags:read", target=_target)
async def get_flag(work: Work, call: ToolCall, arguments: GetFlag) -> DetailedFlag:
    """Get one feature flag, with the users for whom it is set separately.

    Use it to see whether a feature is on for everyone, and for whom it differs. To know what holds for one user, use
    check_flag. It costs nothing and changes nothing.
    """
    del call
    with naming("key"):
        return await _show_detailed(work, await flags.get_flag(work, arguments.key))


@tool(scope="flags:read", target=_target)
async def check_flag(work: Work, call: ToolCall, arguments: CheckFlag) -> ShownFlagForUser:
    """Check whether a feature is on for one user, and whether by an override or by the setting for everyone.

    Use it when a user says that something is missing or not working. It costs nothing and changes nothing.
    """
    del call
    with naming("userId"):
        user = await accounts.get_user(work, arguments.user_id)
    with naming("key"):
        return _show_for_user(await flags.get_for_user(work, arguments.key, user.id))


@tool(scope="flags:write", tier=Tier.T2, target=_target)
async def toggle_flag(work: Work, call: ToolCall, arguments: ToggleFlag) -> DetailedFlag:
    """Switch a feature on or off for everyone who has no override.

    The change takes effect everywhere within about a second. Use it to stop a feature that causes trouble, or to switch
    it on again; for one user alone, use set_flag_override. It can be undone by switching back. It needs confirm: true
    and costs nothing.
    """
    del call
    with naming("key"):
        return await _show_detailed(work, await flags.toggle_flag(work, arguments.key, enabled=arguments.enabled))


@tool(scope="flags:write", tier=Tier.T2, target=_target)
async def set_flag_override(work: Work, call: ToolCall, arguments: SetFlagOverride) -> ShownFlagForUser:
    """Switch a feature on or off for one user, regardless of the setting for everyone.

    Use it to try a feature with one user, or to switch it off for one user. It replaces an earlier override of that
    user and holds until remove_flag_override. It needs confirm: true and costs nothing.
    """
    del call
    with naming("userId"):
        user = await accounts.get_user(work, arguments.user_id)
    with naming("key"):
        found = await flags.set_override(work, arguments.key, user.id, enabled=arguments.enabled)
    return _show_for_user(found)


@tool(scope="flags:write", tier=Tier.T2, target=_target)
async def remove_flag_override(work: Work, call: ToolCall, arguments: CheckFlag) -> ShownFlagForUser:
    """Remove a user's override of a feature flag, so that the setting for everyone applies again.

    If the user has no override, nothing changes. It needs confirm: true and costs nothing.
    """
    del call
    with naming("userId"):
        user = await accounts.get_user(work, arguments.user_id)
    with naming("key"):
        return _show_for_user(await flags.remove_override(work, arguments.key, user.id))


FLAG_TOOLS = (list_flags, get_flag, check_flag, toggle_flag, set_flag_override, remove_flag_override)


def _show(flag: Flag) -> ShownFlag:
    return ShownFlag(
        key=flag.key,
        description=flag.description,
        enabled=flag.enabled,
        override_count=flag.override_count,
        updated_at=iso(flag.updated_at),
    )


async def _show_detailed(work: Work, flag: Flag) -> DetailedFlag:
    overrides = await flags.list_overrides(work, flag)
    return DetailedFlag(
        key=flag.key,
        description=flag.description,
        enabled=flag.enabled,
        override_count=flag.override_count,
        updated_at=iso(flag.updated_at),
        overrides=[
            ShownFlagOverride(user_id=str(each.user_id), enabled=each.enabled, updated_at=iso(each.updated_at))
            for each in overrides
        ],
    )


def _show_for_user(found: FlagForUser) -> ShownFlagForUser:
    return ShownFlagForUser(
        key=found.key,
        user_id=str(found.user_id),
        enabled=found.enabled,
        source="override" if found.is_override else "everyone",
    )
