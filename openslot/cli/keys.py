"""key …: API keys, SCIM tokens and agent keys from the terminal."""

from datetime import timedelta
from typing import Annotated
from uuid import UUID

import typer

from openslot.cli.command import command, group
from openslot.cli.output import Answer, TableRows, pick
from openslot.domains.access.models import Credential, CredentialKind
from openslot.domains.access.operations import (
    create_agent_key,
    create_api_key,
    create_scim_token,
    list_credentials,
    revoke_credential,
    rotate_credential,
)
from openslot.domains.accounts.operations import get_user_by_email
from openslot.domains.accounts.organizations.operations import get_organization
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import parse_id
from openslot.platform.core.work import Work

app = group("API keys, SCIM tokens and agent keys.")

ForUser = Annotated[str | None, typer.Option("--user", help="Email address of the user who owns the API key")]
ForOrganization = Annotated[str | None, typer.Option("--organization", help="Slug of the organization with the token")]
ForAgent = Annotated[str | None, typer.Option("--agent", help="Name of the agent that owns the key")]
KeyId = Annotated[str, typer.Argument(help="Id of the key, from `key list`")]

KeyOwner = tuple[CredentialKind, UUID | str]


@command(app, "create")
async def create_key(
    work: Work,
    *,
    user: ForUser = None,
    organization: ForOrganization = None,
    agent: ForAgent = None,
    name: Annotated[str, typer.Option(help="What the key is for")] = "Command line",
    days: Annotated[int | None, typer.Option(min=1, max=3650, help="Days until the key expires")] = None,
) -> Answer:
    """Create an API key (--user), SCIM token (--organization) or agent key (--agent) and print it once."""
    _check_one_owner(user, organization, agent)
    expires_at = work.now + timedelta(days=days) if days else None
    if user is not None:
        owner = await get_user_by_email(work, user)
        return _answer(*await create_api_key(work, owner, name=name, expires_at=expires_at))
    if organization is not None:
        found = await get_organization(work, organization)
        return _answer(*await create_scim_token(work, found, name=name, expires_at=expires_at))
    return _answer(*await create_agent_key(work, agent or "", name=name, expires_at=expires_at))


@command(app, "list")
async def list_keys(
    work: Work, user: ForUser = None, organization: ForOrganization = None, agent: ForAgent = None
) -> Answer:
    """List an owner's keys by their last four characters, newest first."""
    kind, owner = await _find_owner(work, user, organization, agent)
    found = [(key, key.is_active(now=work.now)) for key in await list_credentials(work, kind, owner)]
    rows = [(str(c.id), c.name, f"…{c.last_four}", active, c.last_used_at, c.expires_at) for c, active in found]
    columns = ("Id", "Name", "Last four characters", "Active", "Last used", "Expires")
    shown = [{**_shape(credential), "active": active} for credential, active in found]
    return Answer({"keys": shown}, TableRows(columns, rows, "No keys yet."))


@command(app, "rotate")
async def rotate_key(
    work: Work,
    key_id: KeyId,
    *,
    user: ForUser = None,
    organization: ForOrganization = None,
    agent: ForAgent = None,
    hours: Annotated[int, typer.Option(min=0, max=720, help="Hours that the old key stays valid")] = 24,
) -> Answer:
    """Create a key in place of another and print it once.

    The old one stays valid for 24 hours, or for --hours, and can't be rotated again.
    """
    kind, owner = await _find_owner(work, user, organization, agent)
    kept_for = timedelta(hours=hours)
    return _answer(*await rotate_credential(work, kind, owner, parse_id(key_id), kept_for=kept_for))


@command(app, "revoke")
async def revoke_key(
    work: Work, key_id: KeyId, user: ForUser = None, organization: ForOrganization = None, agent: ForAgent = None
) -> Answer:
    """Revoke a key. It stops working at once."""
    kind, owner = await _find_owner(work, user, organization, agent)
    await revoke_credential(work, kind, owner, parse_id(key_id))
    return Answer({"revoked": key_id}, "The key was revoked.")


async def _find_owner(work: Work, user: str | None, organization: str | None, agent: str | None) -> KeyOwner:
    _check_one_owner(user, organization, agent)
    if user is not None:
        return CredentialKind.API_KEY, (await get_user_by_email(work, user)).id
    if organization is not None:
        return CredentialKind.SCIM_TOKEN, (await get_organization(work, organization)).id
    return CredentialKind.AGENT_KEY, agent or ""


def _check_one_owner(*owners: str | None) -> None:
    if sum(owner is not None for owner in owners) != 1:
        raise Invalid("Specify one owner: --user, --organization or --agent")


def _answer(key: str, credential: Credential) -> Answer:
    return Answer({"key": key, **_shape(credential)}, f"Shown only once: {key}")


def _shape(credential: Credential) -> dict[str, object]:
    return pick(credential, "id name last_four created_at expires_at revoked_at last_used_at")
