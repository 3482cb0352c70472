"""Pages: create, rotate and deactivate an agent's keys."""

from datetime import timedelta
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Struct

from openslot.access import operations as access
from openslot.access.errors import CredentialNotFound
from openslot.access.keys import CredentialKind, KeyName
from openslot.access.models import Credential
from openslot.accounts.models import User
from openslot.agents import operations
from openslot.agents.roster import ROSTER
from openslot.change_log.models import ChangeAction, ChangeAuthor
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.routing import Form, Request, Response, WhenEmpty, get, post
from openslot.web.admin.agents import agent_page
from openslot.web.admin.changing import log_platform
from openslot.web.admin.key_rows import agent_key_row
from openslot.web.key_rows import expiry_of
from openslot.web.organization.changing import author_of
from openslot.web.pages import page, redirect

# How long the old key stays valid, by the value that is sent.
OVERLAPS = {
    "0": Text("Not at all"),
    "1": Text("For 1 hour"),
    "24": Text("For 24 hours"),
    "168": Text("For 7 days"),
}


class AgentKeyForm(Struct, frozen=True, kw_only=True):
    """A key to create."""

    name: Annotated[
        KeyName,
        WhenEmpty(Text("Give the key a name, such as the machine that will use it")),
    ]
    expires: Annotated[Literal["never", "30", "90", "365"], WhenEmpty(Text("Choose one of these"))]


class RotateForm(Struct, frozen=True, kw_only=True):
    """How long the old key stays valid."""

    hours: Annotated[Literal["0", "1", "24", "168"], WhenEmpty(Text("Choose one of these"))]


@post("/admin/agents/{slug}/keys")
async def create_key_of_agent(
    request: Request, work: Work, user: User, slug: str, form: Form[AgentKeyForm]
) -> Response:
    """Create a key and show it once, in this response."""
    if form.faults:
        return await agent_page(work, user, slug, key_form=form, status=400)
    await operations.get_agent(work, slug)
    sent = form.get()
    expires_at = expiry_of(sent.expires, now=work.now)
    key, credential = await access.create_agent_key(work, slug, name=sent.name, expires_at=expires_at)
    await _log(work, author_of(request, user), ChangeAction.AGENT_KEY_CREATED, slug, credential)
    return await agent_page(work, user, slug, new_key=(credential.name, key))


@get("/admin/agents/{slug}/keys/{key_id}/rotate")
async def ask_to_rotate(work: Work, user: User, slug: str, key_id: UUID) -> Response:
    """Ask how long the old key stays valid."""
    key = await _get_active_key(work, slug, key_id)
    return _ask(work, user, slug, key, template="admin/rotate_key.html")


@post("/admin/agents/{slug}/keys/{key_id}/rotate")
async def rotate_agent_key(
    request: Request, work: Work, user: User, *, slug: str, key_id: UUID, form: Form[RotateForm]
) -> Response:
    """Create a key in place of another and show it once."""
    key = await _get_active_key(work, slug, key_id)
    if form.faults:
        return _ask(work, user, slug, key, template="admin/rotate_key.html", form=form)
    kept_for = timedelta(hours=int(form.get().hours))
    made, credential = await access.rotate_credential(work, CredentialKind.AGENT_KEY, slug, key_id, kept_for=kept_for)
    await _log(work, author_of(request, user), ChangeAction.AGENT_KEY_ROTATED, slug, credential)
    return await agent_page(work, user, slug, new_key=(credential.name, made))


@get("/admin/agents/{slug}/keys/{key_id}/deactivate")
async def ask_to_deactivate(work: Work, user: User, slug: str, key_id: UUID) -> Response:
    """Ask for confirmation before a key is deactivated."""
    key = await _get_active_key(work, slug, key_id)
    return _ask(work, user, slug, key, template="admin/deactivate_key.html")


@post("/admin/agents/{slug}/keys/{key_id}/deactivate")
async def deactivate_agent_key(request: Request, work: Work, user: User, slug: str, key_id: UUID) -> Response:
    """Deactivate a key."""
    key = await _get_active_key(work, slug, key_id)
    await access.revoke_credential(work, CredentialKind.AGENT_KEY, slug, key_id)
    await _log(work, author_of(request, user), ChangeAction.AGENT_KEY_DEACTIVATED, slug, key)
    return redirect(f"/admin/agents/{slug}?done=revoked#keys")


async def _log(work: Work, author: ChangeAuthor, action: ChangeAction, slug: str, key: Credential) -> None:
    after = {"name": key.name, "ends_in": key.last_four}
    await log_platform(work, author, action, slug, subject_id=key.id, after=after)


def _ask(
    work: Work, user: User, slug: str, key: Credential, *, template: str, form: Form[RotateForm] | None = None
) -> Response:
    return page(
        template,
        user,
        here="/admin/agents",
        status=400 if form and form.faults else 200,
        slug=slug,
        agent=ROSTER[slug].name,
        key=agent_key_row(key, user, now=work.now),
        overlaps=OVERLAPS,
        form=form or Form(),
    )


async def _get_active_key(work: Work, slug: str, key_id: UUID) -> Credential:
    for key in await access.list_credentials(work, CredentialKind.AGENT_KEY, slug):
        if key.id == key_id and key.is_active(now=work.now):
            return key
    raise CredentialNotFound
