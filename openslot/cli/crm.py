"""crm …: the CRMs of users. Each kind of CRM brings its own option for `connect`."""

import inspect
import sys
from typing import Annotated, Any

import typer

from openslot.cli.command import CommandFunction, command, group
from openslot.cli.output import Answer, TableRows, pick
from openslot.domains.accounts.operations import get_user_by_email
from openslot.domains.crm import operations
from openslot.domains.crm.models import CrmConnection, CrmWanted
from openslot.domains.crm.ports import CrmVendor
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import parse_id
from openslot.platform.core.work import Runtime, Work
from openslot.platform.i18n import say
from openslot.vendors.crms import VENDORS

app = group("CRMs of users.")

CrmId = Annotated[str, typer.Argument(help="Id of the connection, from `crm list`")]
NAMES = ", ".join(f"--{vendor.name}" for vendor in VENDORS)


def with_vendors(run: CommandFunction) -> CommandFunction:
    """Give a command an option for each kind of CRM, in place of the last argument."""
    *own, _ = inspect.signature(run).parameters.values()
    run.__signature__ = inspect.Signature([*own, *map(_write_option, VENDORS)])  # type: ignore[attr-defined]
    return run


def _write_option(vendor: CrmVendor) -> inspect.Parameter:
    flag = f"--{vendor.name}"
    annotation: Any = Annotated[bool, typer.Option(flag, help=f"Connect {vendor.label}, with --token-stdin")]
    if vendor.account is not None:
        annotation = Annotated[str | None, typer.Option(flag, metavar="ACCOUNT", help=str(vendor.account.hint))]
    default = False if vendor.account is None else None
    return inspect.Parameter(vendor.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


@command(app, "connect")
@with_vendors
async def connect_crm(
    runtime: Runtime,
    *,
    user: Annotated[str, typer.Option("--user", help="User's email address")],
    token_stdin: Annotated[bool, typer.Option("--token-stdin", help="Read the token from standard input")] = False,
    **chosen: Any,
) -> Answer:
    """Connect a CRM, or connect the same account again; prints the secret if one was made, only this once."""
    named = [(vendor, chosen[vendor.name]) for vendor in VENDORS if chosen[vendor.name]]
    if len(named) != 1:
        raise Invalid(f"Specify one of {NAMES}")
    ((vendor, account),) = named
    if vendor.secret is not None and not token_stdin:
        raise Invalid("Specify --token-stdin and pass the token on standard input")
    work = runtime.work(OPERATOR)
    wanted = CrmWanted(
        vendor=vendor.name,
        account=account if vendor.account is not None else "",
        secret=sys.stdin.readline().strip() if vendor.secret is not None else "",
    )
    made = await operations.connect(work, await get_user_by_email(work, user), wanted)
    lines = [f"Connected {made.connection.label}: {made.connection.id}"]
    if made.new_secret:
        lines += [f"Secret (shown only this once): {made.new_secret}"]
    return Answer(_shape(made.connection) | {"secret": made.new_secret}, "\n".join(lines))


@command(app, "list")
async def list_crms(
    work: Work, user: Annotated[str | None, typer.Option("--user", help="Only those of this user")] = None
) -> Answer:
    """List connected CRMs and how they stand."""
    owner = await get_user_by_email(work, user) if user else None
    found = await operations.list_connections(work, owner)
    rows = [
        (each.id, each.vendor, each.label, each.standing, say(each.last_error or ""), each.owner_id) for each in found
    ]
    columns = ("Id", "Kind", "Account", "State", "Last error", "User")
    return Answer({"crms": [_shape(each) for each in found]}, TableRows(columns, rows, "No CRMs."))


@command(app, "test")
async def test_crm(runtime: Runtime, connection_id: CrmId) -> Answer:
    """Ask a CRM whether it can be used; if it can, what waits for it is sent."""
    work = runtime.work(OPERATOR)
    connection = await operations.get_crm_connection(work, None, parse_id(connection_id))
    fault = await operations.check_connection(work, connection)
    if fault is not None:
        raise Invalid(fault)
    return Answer({"id": connection.id, "works": True}, "The CRM works.")


@command(app, "disconnect", confirm="Disconnect the CRM {connection_id}? What was written there stays.")
async def disconnect_crm(work: Work, connection_id: CrmId) -> Answer:
    """Delete a connection and its secret; people and meetings in the CRM stay."""
    gone = await operations.disconnect(work, None, parse_id(connection_id))
    return Answer({"disconnected": gone.id}, f"{gone.label} is disconnected.")


def _shape(connection: CrmConnection) -> dict[str, Any]:
    return pick(
        connection, "id owner_id vendor account label last_error failing_since connected_at", state=connection.standing
    )
