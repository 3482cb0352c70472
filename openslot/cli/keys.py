"""key …: API keys, SCIM tokens and agent keys from the terminal."""

from datetime import timedelta
from typing import Annotated
from uuid import UUID

import typer

from openslot.access import operations as access
from openslot.access.keys import CredentialKind
from openslot.access.models import Credential
from openslot.accounts import operations as accounts
from openslot.cli.output import AsJson, console, print_json, print_table
from openslot.core.errors import Invalid
from openslot.core.ids import parse_id
from openslot.core.work import Work
from openslot.processes.runtimes import with_work

app = typer.Typer(help="API keys, SCIM tokens and agent keys.", no_args_is_help=True, add_completion=False)

ForUser = Annotated[str | None, typer.Option("--user", help="Email address of the user who owns the API key")]
ForOrganization = Annotated[str | None, typer.Option("--organization", help="Slug of the organization with the token")]
ForAgent = Annotated[str | None, typer.Option("--agent", help="Name of the agent that owns the key")]

KeyOwner = tuple[CredentialKind, UUID | str]


@app.command("create")
def create_key(
    *,
    user: ForUser = None,
    organization: ForOrganization = None,
    agent: ForAgent = None,
    name: Annotated[str, typer.Option(help="What the key is for")] = "Command line",
    days: Annotated[int | None, typer.Option(min=1, max=3650, help="Days until the key expires")] = None,
    as_json: AsJson = False,
) -> None:
    """Create a key and print it once."""

    async def do(work: Work) -> tuple[str, Credential]:
        expires_at = work.now + timedelta(days=days) if days else None
        if user is not None:
            owner = await accounts.get_user_by_email(work, user)
            return await access.create_api_key(work, owner, name=name, expires_at=expires_at)
        if organization is not None:
            found = await accounts.get_organization(work, organization)
            return await access.create_scim_token(work, found, name=name, expires_at=expires_at)
        return await access.create_agent_key(work, agent or "", name=name, expires_at=expires_at)

    _check_one_owner(user, organization, agent)
    key, credential = with_work(do)
    if as_json:
        print_json({"key": key, **_shown(credential)})
        return
    console.print(f"Shown only once: {key}", soft_wrap=True)


@app.command("list")
def list_keys(
    user: ForUser = None, organization: ForOrganization = None, agent: ForAgent = None, as_json: AsJson = False
) -> None:
    """List the keys of an owner, newest first."""

    async def do(work: Work) -> list[tuple[Credential, bool]]:
        kind, owner = await _find_owner(work, user, organization, agent)
        found = await access.list_credentials(work, kind, owner)
        return [(credential, credential.is_active(now=work.now)) for credential in found]

    found = with_work(do)
    if as_json:
        print_json({"keys": [{**_shown(credential), "active": active} for credential, active in found]})
        return
    rows = [(str(c.id), c.name, f"…{c.last_four}", active, c.last_used_at, c.expires_at) for c, active in found]
    print_table(("Id", "Name", "Last four characters", "Active", "Last used", "Expires"), rows, nothing="No keys yet.")


@app.command("rotate")
def rotate_key(
    key_id: Annotated[str, typer.Argument(help="Id of the key, from `key list`")],
    *,
    user: ForUser = None,
    organization: ForOrganization = None,
    agent: ForAgent = None,
    hours: Annotated[int, typer.Option(min=0, max=720, help="Hours that the old key stays valid")] = 24,
    as_json: AsJson = False,
) -> None:
    """Create a key in place of another, and print it once."""

    async def do(work: Work) -> tuple[str, Credential]:
        kind, owner = await _find_owner(work, user, organization, agent)
        return await access.rotate_credential(work, kind, owner, parse_id(key_id), kept_for=timedelta(hours=hours))

    key, credential = with_work(do)
    if as_json:
        print_json({"key": key, **_shown(credential)})
        return
    console.print(f"Shown only once: {key}", soft_wrap=True)


@app.command("revoke")
def revoke_key(
    key_id: Annotated[str, typer.Argument(help="Id of the key, from `key list`")],
    user: ForUser = None,
    organization: ForOrganization = None,
    agent: ForAgent = None,
    as_json: AsJson = False,
) -> None:
    """Revoke a key. It stops working at once."""

    async def do(work: Work) -> None:
        kind, owner = await _find_owner(work, user, organization, agent)
        await access.revoke_credential(work, kind, owner, parse_id(key_id))

    with_work(do)
    if as_json:
        print_json({"revoked": key_id})
        return
    console.print("The key was revoked.")


async def _find_owner(work: Work, user: str | None, organization: str | None, agent: str | None) -> KeyOwner:
    _check_one_owner(user, organization, agent)
    if user is not None:
        return CredentialKind.API_KEY, (await accounts.get_user_by_email(work, user)).id
    if organization is not None:
        return CredentialKind.SCIM_TOKEN, (await accounts.get_organization(work, organization)).id
    return CredentialKind.AGENT_KEY, agent or ""


def _check_one_owner(*owners: str | None) -> None:
    if sum(owner is not None for owner in owners) != 1:
        raise Invalid("Specify one owner: --user, --organization or --agent")


def _shown(credential: Credential) -> dict[str, object]:
    return {
        "id": credential.id,
        "name": credential.name,
        "lastFour": credential.last_four,
        "createdAt": credential.created_at,
        "expiresAt": credential.expires_at,
        "revokedAt": credential.revoked_at,
        "lastUsedAt": credential.last_used_at,
    }
