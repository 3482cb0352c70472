"""flag …: features that can be switched off."""

from typing import Annotated

import typer

from openslot.cli.command import command, group
from openslot.cli.output import Answer, TableRows, pick
from openslot.domains.accounts.operations import get_user_by_email
from openslot.platform.core.work import Work
from openslot.platform.flags import operations as flags
from openslot.platform.flags.models import Flag, FlagForUser

app = group("Features that can be switched off.")

Key = Annotated[str, typer.Argument(help="Key of the flag, from `flag list`")]
ForUser = Annotated[str | None, typer.Option("--user", help="Only for this user, by email address")]


@command(app, "list")
async def list_flags(work: Work) -> Answer:
    """List all flags: what each switches, and whether it is on."""
    return _answer(await flags.list_flags(work))


@command(app, "on")
async def switch_on(work: Work, key: Key, user: ForUser = None) -> Answer:
    """Switch a feature on, for everyone or for one user."""
    return await _switch(work, key, user, enabled=True)


@command(app, "off")
async def switch_off(work: Work, key: Key, user: ForUser = None) -> Answer:
    """Switch a feature off, for everyone or for one user."""
    return await _switch(work, key, user, enabled=False)


@command(app, "reset")
async def reset_for_user(
    work: Work, key: Key, user: Annotated[str, typer.Option("--user", help="By email address")]
) -> Answer:
    """Remove a user's own setting, so that the setting for everyone applies."""
    owner = await get_user_by_email(work, user)
    return _answer_for_user(await flags.remove_override(work, key, owner.id), user)


async def _switch(work: Work, key: str, user: str | None, *, enabled: bool) -> Answer:
    if user is None:
        return _answer([await flags.toggle_flag(work, key, enabled=enabled)])
    owner = await get_user_by_email(work, user)
    return _answer_for_user(await flags.set_override(work, key, owner.id, enabled=enabled), user)


def _answer(found: list[Flag]) -> Answer:
    rows = [(flag.key, flag.enabled, flag.override_count, flag.description) for flag in found]
    shown = [pick(flag, "key description enabled override_count") for flag in found]
    return Answer({"flags": shown}, TableRows(("Flag", "On", "Overrides", "Switches"), rows, "There are no flags."))


def _answer_for_user(found: FlagForUser, user: str) -> Answer:
    row = (found.key, user, found.enabled, found.is_override)
    shown = {"key": found.key, "user": user, "enabled": found.enabled, "override": found.is_override}
    return Answer(shown, TableRows(("Flag", "User", "On", "Override"), [row]))
