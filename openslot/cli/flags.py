"""flag …: features that can be switched off."""

from typing import Annotated

import typer

from openslot.accounts import operations as accounts
from openslot.cli.output import AsJson, print_json, print_table
from openslot.core.work import Work
from openslot.flags import operations as flags
from openslot.flags.models import Flag, FlagForUser
from openslot.processes.runtimes import with_work

app = typer.Typer(help="Features that can be switched off.", no_args_is_help=True, add_completion=False)

Key = Annotated[str, typer.Argument(help="Key of the flag, from `flag list`")]
ForUser = Annotated[str | None, typer.Option("--user", help="Only for this user, by email address")]


@app.command("list")
def list_flags(as_json: AsJson = False) -> None:
    """List all flags: what each switches, and whether it is on."""
    _show(with_work(flags.list_flags), as_json=as_json)


@app.command("on")
def switch_on(key: Key, user: ForUser = None, as_json: AsJson = False) -> None:
    """Switch a feature on, for everyone or for one user."""
    _switch(key, user, enabled=True, as_json=as_json)


@app.command("off")
def switch_off(key: Key, user: ForUser = None, as_json: AsJson = False) -> None:
    """Switch a feature off, for everyone or for one user."""
    _switch(key, user, enabled=False, as_json=as_json)


@app.command("reset")
def reset_for_user(
    key: Key, user: Annotated[str, typer.Option("--user", help="By email address")], as_json: AsJson = False
) -> None:
    """Remove a user's own setting, so that the setting for everyone applies."""

    async def do(work: Work) -> FlagForUser:
        return await flags.remove_override(work, key, (await accounts.get_user_by_email(work, user)).id)

    _show_for_user(with_work(do), user, as_json=as_json)


def _switch(key: str, user: str | None, *, enabled: bool, as_json: bool) -> None:
    if user is None:
        _show([with_work(lambda work: flags.toggle_flag(work, key, enabled=enabled))], as_json=as_json)
        return

    async def do(work: Work) -> FlagForUser:
        owner = await accounts.get_user_by_email(work, user)
        return await flags.set_override(work, key, owner.id, enabled=enabled)

    _show_for_user(with_work(do), user, as_json=as_json)


def _show(found: list[Flag], *, as_json: bool) -> None:
    if as_json:
        shown = [
            {
                "key": flag.key,
                "description": flag.description,
                "enabled": flag.enabled,
                "overrideCount": flag.override_count,
            }
            for flag in found
        ]
        print_json({"flags": shown})
        return
    rows = [(flag.key, flag.enabled, flag.override_count, flag.description) for flag in found]
    print_table(("Flag", "On", "Overrides", "Switches"), rows, nothing="There are no flags.")


def _show_for_user(found: FlagForUser, user: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"key": found.key, "user": user, "enabled": found.enabled, "override": found.is_override})
        return
    print_table(("Flag", "User", "On", "Override"), [(found.key, user, found.enabled, found.is_override)], nothing="")
