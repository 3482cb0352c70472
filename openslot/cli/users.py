"""user …: accounts from the terminal."""

import asyncio
import sys
from datetime import datetime
from typing import Annotated
from uuid import UUID

import typer
from msgspec import Struct

from openslot.access import operations as access
from openslot.access import two_factor
from openslot.access.passwords import check_password, hash_password
from openslot.accounts import operations as accounts
from openslot.accounts.models import DeletionState, User, UserWanted
from openslot.accounts.plans import Plan
from openslot.cli.output import AsJson, console, print_json, print_table
from openslot.core.secrets import new_token
from openslot.core.work import Work
from openslot.people import deletions
from openslot.people import operations as people
from openslot.processes.runtimes import with_work

app = typer.Typer(help="Accounts.", no_args_is_help=True, add_completion=False)

Email = Annotated[str, typer.Argument(help="The user's email address")]


class ShownUser(Struct, frozen=True, kw_only=True, rename="camel"):
    """A user as scripts see it."""

    id: UUID
    email: str
    name: str
    username: str
    plan: Plan
    effective_plan: Plan
    timezone: str
    admin: bool
    disabled: bool
    created_at: datetime


class DeletionRow(Struct, frozen=True, kw_only=True, rename="camel"):
    """A deletion that is not done as scripts see it."""

    user_id: UUID
    state: DeletionState
    requested_at: datetime
    finish_by: datetime
    cancelled_bookings: int
    unfinished_effects: int


@app.command("list")
def list_users(
    search: Annotated[str | None, typer.Option(help="Part of a name or email address")] = None,
    page: Annotated[int, typer.Option(min=1, max=1_000_000)] = 1,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 100,
    as_json: AsJson = False,
) -> None:
    """List accounts, newest first."""
    found, total = with_work(lambda work: accounts.list_users(work, search=search, page=page, limit=limit))
    if as_json:
        print_json({"users": [shown(user) for user in found], "total": total})
        return
    rows = [(u.email, u.name, u.username, u.effective_plan, u.is_admin, u.disabled_at is not None) for u in found]
    columns = ("Email", "Name", "Username", "Plan", "Admin", "Disabled")
    none = "No accounts found." if search else "No accounts yet. Make one: openslot user add EMAIL --name NAME"
    print_table(columns, rows, nothing=f"Page {page} is empty; there are {total} accounts." if total else none)


@app.command("add")
def add_user(
    *,
    email: Email,
    name: Annotated[str, typer.Option(help="The person's name")],
    username: Annotated[str | None, typer.Option(help="[default: derived from the name]")] = None,
    plan: Annotated[Plan, typer.Option(case_sensitive=False)] = Plan.FREE,
    timezone: Annotated[str, typer.Option()] = "UTC",
    admin: Annotated[bool, typer.Option("--admin", help="Make the user an administrator of the platform")] = False,
    as_json: AsJson = False,
) -> None:
    """Create an account and print its password once."""
    password = new_token()[:20]
    wanted = UserWanted(email=email, name=name, username=username, plan=plan, zone=timezone, is_admin=admin)
    password_hash = asyncio.run(hash_password(password))
    user = with_work(lambda work: people.welcome(work, wanted, password_hash=password_hash))
    if as_json:
        print_json({"user": shown(user), "password": password})
        return
    console.print(f"{user.name} can sign in as {user.email} with the password {password}")


@app.command("password")
def set_password(
    email: Email,
    from_stdin: Annotated[bool, typer.Option("--stdin", help="Read the password from standard input")] = False,
    as_json: AsJson = False,
) -> None:
    """Set a new password, print it once and end the user's sessions and known devices."""
    password = sys.stdin.readline().rstrip("\n") if from_stdin else new_token()[:20]
    check_password(password)
    password_hash = asyncio.run(hash_password(password))

    async def do(work: Work) -> None:
        await access.set_password(work, await accounts.get_user_by_email(work, email), password_hash)

    with_work(do)
    if as_json:
        print_json({"email": email, "password": None if from_stdin else password})
        return
    console.print("The password is set." if from_stdin else f"The new password of {email} is {password}")


@app.command("plan")
def change_plan(
    email: Email,
    plan: Annotated[Plan, typer.Argument(case_sensitive=False)],
    until: Annotated[datetime | None, typer.Option(help="When the plan ends, in UTC")] = None,
    as_json: AsJson = False,
) -> None:
    """Change a user's plan."""

    async def do(work: Work) -> User:
        user = await accounts.get_user_by_email(work, email)
        lapses = until.replace(tzinfo=work.now.tzinfo) if until else None
        return await accounts.change_plan(work, user, plan, until=lapses, reason="by the operator")

    _show(with_work(do), as_json=as_json)


@app.command("disable")
def disable_user(email: Email, reason: Annotated[str | None, typer.Option()] = None, as_json: AsJson = False) -> None:
    """Disable an account: sign-in, keys and booking page stop working at once."""

    async def do(work: Work) -> User:
        user = await accounts.get_user_by_email(work, email)
        await people.disable_user(work, user, reason=reason)
        return await accounts.get_user(work, user.id)

    _show(with_work(do), as_json=as_json)


@app.command("enable")
def enable_user(email: Email, as_json: AsJson = False) -> None:
    """Enable a disabled account."""

    async def do(work: Work) -> User:
        user = await accounts.get_user_by_email(work, email)
        await accounts.enable_user(work, user)
        return await accounts.get_user(work, user.id)

    _show(with_work(do), as_json=as_json)


@app.command("delete")
def delete_user(
    email: Email,
    message: Annotated[str | None, typer.Option(help="Message to invitees of cancelled bookings")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete an account: it is closed at once, its bookings are cancelled with notice, and then it is erased."""
    if not yes:
        typer.confirm(f"Delete the account {email} with all its data? This can't be undone.", abort=True, err=True)

    async def do(work: Work) -> UUID:
        user = await accounts.get_user_by_email(work, email)
        await deletions.delete_account(work, user, message=message)
        return user.id

    user_id = with_work(do)
    if as_json:
        print_json({"userId": user_id, "state": "cancelling"})
        return
    console.print("The account is closed and will be deleted. `openslot user deletions` shows the progress.")


@app.command("deletions")
def list_deletions(as_json: AsJson = False) -> None:
    """List the accounts that are being deleted, and what each waits for."""
    found = [
        DeletionRow(
            user_id=each.deletion.user_id,
            state=each.deletion.state,
            requested_at=each.deletion.requested_at,
            finish_by=each.deletion.finish_by,
            cancelled_bookings=each.deletion.cancelled_bookings,
            unfinished_effects=each.unfinished,
        )
        for each in with_work(deletions.list_deletions)
    ]
    if as_json:
        print_json({"deletions": found})
        return
    rows = [
        (each.user_id, each.state, each.requested_at, each.cancelled_bookings, each.unfinished_effects, each.finish_by)
        for each in found
    ]
    columns = ("User", "State", "Requested", "Cancelled bookings", "Unfinished effects", "Waits until")
    print_table(columns, rows, nothing="No account is being deleted.")


@app.command("admin")
def set_admin(
    email: Email,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the role instead")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a user an administrator of the platform."""

    async def do(work: Work) -> User:
        return await accounts.set_admin(work, await accounts.get_user_by_email(work, email), is_admin=not remove)

    _show(with_work(do), as_json=as_json)


@app.command("reset-two-factor")
def reset_two_factor(email: Email, as_json: AsJson = False) -> None:
    """Turn two-factor authentication off for a user who has lost the phone and the recovery codes."""

    async def do(work: Work) -> bool:
        return await two_factor.reset(work, await accounts.get_user_by_email(work, email))

    was_on = with_work(do)
    if as_json:
        print_json({"email": email, "wasOn": was_on})
        return
    console.print(
        f"Two-factor authentication is off for {email}; the user was told by email."
        if was_on
        else f"Two-factor authentication was not on for {email}."
    )


def shown(user: User) -> ShownUser:
    """Convert a user to its form for scripts."""
    return ShownUser(
        id=user.id,
        email=user.email,
        name=user.name,
        username=user.username,
        plan=user.plan,
        effective_plan=user.effective_plan,
        timezone=user.zone,
        admin=user.is_admin,
        disabled=user.disabled_at is not None,
        created_at=user.created_at,
    )


def _show(user: User, *, as_json: bool) -> None:
    if as_json:
        print_json(shown(user))
        return
    state = "disabled" if user.disabled_at else "open"
    role = ", administrator" if user.is_admin else ""
    console.print(f"{user.email}: {user.effective_plan}, {state}{role}")
