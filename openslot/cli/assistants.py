"""assistant …: programs that users have connected, and those that have registered."""

from typing import Annotated

import typer

from openslot.cli.command import command, group
from openslot.cli.output import Answer, TableRows, pick
from openslot.domains.accounts.operations import get_user_by_email
from openslot.doors.oauth import operations
from openslot.doors.oauth.clients import list_clients
from openslot.platform.core.ids import parse_id
from openslot.platform.core.work import Work

app = group("Assistants that users have connected.")

OfUser = Annotated[str, typer.Option("--user", help="User's email address")]


@command(app, "list")
async def list_assistants(work: Work, user: OfUser) -> Answer:
    """List the assistants that a user has connected, newest first."""
    found = await operations.list_assistants(work, await get_user_by_email(work, user))
    rows = [(str(each.id), each.client_name, each.site, " ".join(each.scopes), each.last_used_at) for each in found]
    table = TableRows(("Id", "Name", "Site", "Scopes", "Last used"), rows, "No assistants are connected.")
    names = "id client_id client_name site scopes created_at ends_at last_used_at"
    return Answer({"assistants": [pick(each, names) for each in found]}, table)


@command(app, "disconnect")
async def disconnect(
    work: Work, assistant_id: Annotated[str, typer.Argument(help="Id, from `assistant list`")], user: OfUser
) -> Answer:
    """Disconnect an assistant of a user. It is refused from its next request on."""
    owner = await get_user_by_email(work, user)
    await operations.end_assistant_grant(work, owner, parse_id(assistant_id), by="operator")
    return Answer({"disconnected": assistant_id}, "The assistant was disconnected.")


@command(app, "clients")
async def list_programs(work: Work) -> Answer:
    """List the programs that users have connected, and those that have registered, newest first."""
    found = [(each.client, each.connections) for each in await list_clients(work)]
    rows = [(client.id, client.name, client.origin, connections, client.expires_at) for client, connections in found]
    table = TableRows(("Id", "Name", "Origin", "Connections", "Expires"), rows, "No programs are known.")
    names = "id name origin redirect_uris created_at expires_at"
    return Answer({"clients": [{**pick(client, names), "connections": number} for client, number in found]}, table)


@command(app, "remove-client")
async def remove_program(
    work: Work, client_id: Annotated[str, typer.Argument(help="Id, from `assistant clients`")]
) -> Answer:
    """Forget a program and disconnect it from all users."""
    ended = await operations.remove_client(work, client_id)
    shown = {"removed": client_id, "disconnected": ended}
    return Answer(shown, f"The program was removed. Connections that have ended: {ended}.")
