"""Tools: feature flags."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from openslot.doors.agents.models import Tier
from openslot.doors.agents.registry import Search, UserId, about, get_named_user, tool
from openslot.doors.mcp.tools import naming
from openslot.platform.core.shapes import Shape
from openslot.platform.core.text import LINE
from openslot.platform.core.times import Instant
from openslot.platform.core.work import Work
from openslot.platform.flags import operations as flags
from openslot.platform.flags.models import Flag, FlagForUser, FlagOverride

Key = Annotated[str, Meta(pattern=LINE, max_length=100, description="The flag's key", examples=["booking_holds"])]
FLAG = about("flag", "key")


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


_FLAG, _OVERRIDE = Shape(ShownFlag, Flag), Shape(ShownFlagOverride, FlagOverride)
_DETAILED = Shape(DetailedFlag, Flag, given=("overrides",))
_FOR_USER = Shape(ShownFlagForUser, FlagForUser, given=("source",))


@tool(scope="flags:read")
async def list_flags(
    work: Work,
    *,
    search: Annotated[Search, Meta(description="Part of the key or the description, case-insensitive")] = "",
) -> FlagList:
    """List the feature flags: what each switches in the product, and whether it is on for everyone.

    Use it to find the key of a flag before you check or change it. It costs nothing and changes nothing.
    """
    return FlagList(data=[_FLAG.show(flag) for flag in await flags.list_flags(work, search=search)])


@tool(scope="flags:read", target=FLAG)
async def get_flag(work: Work, *, key: Key) -> DetailedFlag:
    """Get one feature flag, with the users for whom it is set separately.

    Use it to see whether a feature is on for everyone, and for whom it differs. To know what holds for one user, use
    check_flag. It costs nothing and changes nothing.
    """
    with naming("key"):
        return await _show_detailed(work, await flags.get_flag(work, key))


@tool(scope="flags:read", target=FLAG)
async def check_flag(work: Work, *, key: Key, user_id: UserId) -> ShownFlagForUser:
    """Check whether a feature is on for one user, and whether by an override or by the setting for everyone.

    Use it when a user says that something is missing or not working. It costs nothing and changes nothing.
    """
    user = await get_named_user(work, user_id)
    with naming("key"):
        return _show_for_user(await flags.get_for_user(work, key, user.id))


@tool(scope="flags:write", tier=Tier.T2, target=FLAG)
async def toggle_flag(work: Work, *, key: Key, enabled: bool) -> DetailedFlag:
    """Switch a feature on or off for everyone who has no override.

    The change takes effect everywhere within about a second. Use it to stop a feature that causes trouble, or to switch
    it on again; for one user alone, use set_flag_override. It can be undone by switching back. It needs confirm: true
    and costs nothing.
    """
    with naming("key"):
        return await _show_detailed(work, await flags.toggle_flag(work, key, enabled=enabled))


@tool(scope="flags:write", tier=Tier.T2, target=FLAG)
async def set_flag_override(work: Work, *, key: Key, user_id: UserId, enabled: bool) -> ShownFlagForUser:
    """Switch a feature on or off for one user, regardless of the setting for everyone.

    Use it to try a feature with one user, or to switch it off for one user. It replaces an earlier override of that
    user and holds until remove_flag_override. It needs confirm: true and costs nothing.
    """
    user = await get_named_user(work, user_id)
    with naming("key"):
        return _show_for_user(await flags.set_override(work, key, user.id, enabled=enabled))


@tool(scope="flags:write", tier=Tier.T2, target=FLAG)
async def remove_flag_override(work: Work, *, key: Key, user_id: UserId) -> ShownFlagForUser:
    """Remove a user's override of a feature flag, so that the setting for everyone applies again.

    If the user has no override, nothing changes. It needs confirm: true and costs nothing.
    """
    user = await get_named_user(work, user_id)
    with naming("key"):
        return _show_for_user(await flags.remove_override(work, key, user.id))


async def _show_detailed(work: Work, flag: Flag) -> DetailedFlag:
    return _DETAILED.show(flag, overrides=[_OVERRIDE.show(each) for each in await flags.list_overrides(work, flag)])


def _show_for_user(found: FlagForUser) -> ShownFlagForUser:
    return _FOR_USER.show(found, source="override" if found.is_override else "everyone")
