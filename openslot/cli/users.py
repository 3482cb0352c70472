"""user …: accounts from the terminal."""

import sys
from datetime import datetime
from typing import Annotated

import typer

from openslot.cli.command import Limit, PageNumber, command, group
from openslot.cli.output import Answer, TableRows, pick
from openslot.domains.access.operations import give_password
from openslot.domains.access.passwords import check_password, hash_password
from openslot.domains.access.two_factor.operations import drop_two_factor
from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.accounts.plans import Plan
from openslot.domains.people import deletions
from openslot.domains.people import operations as people
from openslot.domains.plans.operations import clear_user_plan
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.ids import new_token
from openslot.platform.core.work import Runtime, Work

app = group("Accounts.")

Email = Annotated[str, typer.Argument(help="The user's email address")]


@command(app, "list")
async def list_users(
    work: Work,
    search: Annotated[str | None, typer.Option(help="Part of a name or email address")] = None,
    page: PageNumber = 1,
    limit: Limit = 100,
) -> Answer:
    """List accounts, newest first."""
    found, total = await accounts.list_users(work, search=search, page=page, limit=limit)
    rows = [(u.email, u.name, u.username, u.effective_plan, u.is_admin, u.disabled_at is not None) for u in found]
    columns = ("Email", "Name", "Username", "Plan", "Admin", "Disabled")
    none = "No accounts found." if search else "No accounts yet. Make one: openslot user add EMAIL --name NAME"
    nothing = f"Page {page} is empty; there are {total} accounts." if total else none
    return Answer({"users": [shape(user) for user in found], "total": total}, TableRows(columns, rows, nothing))


@command(app, "add")
async def add_user(
    work: Work,
    *,
    email: Email,
    name: Annotated[str, typer.Option(help="The person's name")],
    username: Annotated[str | None, typer.Option(help="[default: derived from the name]")] = None,
    plan: Annotated[Plan, typer.Option(case_sensitive=False)] = Plan.FREE,
    timezone: Annotated[str, typer.Option()] = "UTC",
    admin: Annotated[bool, typer.Option("--admin", help="Make the user an administrator of the platform")] = False,
) -> Answer:
    """Create an account and print its password once."""
    password = new_token()[:20]
    wanted = UserWanted(email=email, name=name, username=username, plan=plan, zone=timezone, is_admin=admin)
    user = await people.welcome_user(work, wanted, password_hash=await hash_password(password))
    text = f"{user.name} can sign in as {user.email} with the password {password}"
    return Answer({"user": shape(user), "password": password}, text)


@command(app, "password")
async def set_password(
    runtime: Runtime,
    email: Email,
    from_stdin: Annotated[bool, typer.Option("--stdin", help="Read the password from standard input")] = False,
) -> Answer:
    """Set a new password, print it once, and end the user's sessions, known devices and pauses after wrong ones."""
    password = sys.stdin.readline().rstrip("\n") if from_stdin else new_token()[:20]
    check_password(password)
    password_hash = await hash_password(password)
    async with runtime.transaction(OPERATOR) as work:
        await give_password(work, await accounts.get_user_by_email(work, email), password_hash)
    text = "The password is set." if from_stdin else f"The new password of {email} is {password}"
    return Answer({"email": email, "password": None if from_stdin else password}, text)


@command(app, "plan")
async def change_plan(
    work: Work,
    email: Email,
    plan: Annotated[Plan, typer.Argument(case_sensitive=False)],
    until: Annotated[datetime | None, typer.Option(help="When the plan ends, in UTC")] = None,
) -> Answer:
    """Change a user's own plan."""
    user = await accounts.get_user_by_email(work, email)
    lapses = until.replace(tzinfo=work.now.tzinfo) if until else None
    return _answer(await accounts.set_user_plan(work, user, plan, until=lapses, reason="by the operator"))


@command(app, "clear-plan")
async def clear_plan(work: Work, email: Email) -> Answer:
    """Take back the plan that you gave a user: their plan follows their subscription again, or is the free one."""
    user = await accounts.get_user_by_email(work, email)
    return _answer(await clear_user_plan(work, user))


@command(app, "disable")
async def disable_user(work: Work, email: Email, reason: Annotated[str | None, typer.Option()] = None) -> Answer:
    """Disable an account: sign-in, keys and booking page stop working at once."""
    user = await accounts.get_user_by_email(work, email)
    await people.disable_user(work, user, reason=reason)
    return _answer(await accounts.get_user(work, user.id))


@command(app, "enable")
async def enable_user(work: Work, email: Email) -> Answer:
    """Enable a disabled account."""
    user = await accounts.get_user_by_email(work, email)
    await accounts.set_user_enabled(work, user)
    return _answer(await accounts.get_user(work, user.id))


@command(app, "delete", confirm="Delete the account {email} with all its data? This can't be undone.")
async def delete_user(
    work: Work,
    email: Email,
    message: Annotated[str | None, typer.Option(help="Message to invitees of cancelled bookings")] = None,
) -> Answer:
    """Delete an account: it is closed at once, its bookings are cancelled with notice, and then it is erased."""
    user = await accounts.get_user_by_email(work, email)
    await deletions.delete_account(work, user, message=message)
    text = "The account is closed and will be deleted. `openslot user deletions` shows the progress."
    return Answer({"userId": user.id, "state": "cancelling"}, text)


@command(app, "deletions")
async def list_deletions(work: Work) -> Answer:
    """List the accounts that are being deleted, and what each waits for."""
    found = [(each.deletion, each.unfinished) for each in await deletions.list_deletions(work)]
    names = "user_id state requested_at finish_by cancelled_bookings"
    rows = [(d.user_id, d.state, d.requested_at, d.cancelled_bookings, left, d.finish_by) for d, left in found]
    columns = ("User", "State", "Requested", "Cancelled bookings", "Unfinished effects", "Waits until")
    shown = [pick(deletion, names, unfinished_effects=unfinished) for deletion, unfinished in found]
    return Answer({"deletions": shown}, TableRows(columns, rows, "No account is being deleted."))


@command(app, "admin")
async def set_admin(
    work: Work, email: Email, remove: Annotated[bool, typer.Option("--remove", help="Remove the role instead")] = False
) -> Answer:
    """Make a user an administrator of the platform, or remove the role."""
    user = await accounts.get_user_by_email(work, email)
    return _answer(await accounts.set_admin(work, user, is_admin=not remove))


@command(app, "reset-two-factor")
async def reset_two_factor(work: Work, email: Email) -> Answer:
    """Turn two-factor authentication off for a user who has lost the phone and the recovery codes.

    The user is notified by email.
    """
    was_on = await drop_two_factor(work, await accounts.get_user_by_email(work, email))
    done = f"Two-factor authentication is off for {email}; the user was told by email."
    return Answer(
        {"email": email, "wasOn": was_on}, done if was_on else f"Two-factor authentication was not on for {email}."
    )


def shape(user: User) -> dict[str, object]:
    names = "id email name username plan effective_plan"
    disabled = user.disabled_at is not None
    return pick(user, names, timezone=user.zone, admin=user.is_admin, disabled=disabled, created_at=user.created_at)


def _answer(user: User) -> Answer:
    state = "disabled" if user.disabled_at else "open"
    role = ", administrator" if user.is_admin else ""
    return Answer(shape(user), f"{user.email}: {user.effective_plan}, {state}{role}")
