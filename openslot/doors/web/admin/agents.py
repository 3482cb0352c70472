"""Pages: agents, what each may do, and their keys."""

from datetime import timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import Struct

from openslot.domains.access.errors import CredentialNotFound
from openslot.domains.access.models import Credential, CredentialKind, KeyName
from openslot.domains.access.operations import create_agent_key, list_credentials, revoke_credential, rotate_credential
from openslot.domains.accounts.models import User
from openslot.domains.change_log.models import ChangeAction
from openslot.doors.agents import budget, operations
from openslot.doors.agents.activity import list_latest
from openslot.doors.agents.models import Level
from openslot.doors.agents.roster import ROSTER, SCOPES
from openslot.doors.agents.rules import Spending
from openslot.doors.web.admin.agent_charts import draw_agent, draw_agents
from openslot.doors.web.admin.audit import STATUSES
from openslot.doors.web.admin.change_log import log_platform
from openslot.doors.web.shared.expiries import EXPIRIES, expiry_of
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Request, Response, WhenEmpty, get, post

LEVELS = {Level.L0: Text("L0: reads only"), Level.L1: Text("L1: acts within its scopes")}
NOTICES = {
    "level": Text("The level was changed. It applies from the agent's next call."),
    "scopes": Text("The scopes were changed. This applies to existing keys too."),
    "revoked": Text("The key was deactivated. Calls that use it are refused."),
}
# How long the old key stays valid, by the value that is sent.
OVERLAPS = {"0": Text("Not at all"), "1": Text("For 1 hour"), "24": Text("For 24 hours"), "168": Text("For 7 days")}


RECENT = 10
MAIL_STATES = {
    "queued": (Text("Waiting"), "wait"),
    "sent": (Text("Sent"), "good"),
    "mailbox": (Text("Stored, not sent"), ""),
    "failed": (Text("Failed"), "bad"),
}


class LevelForm(Struct, frozen=True, kw_only=True):
    level: Annotated[Literal["L0", "L1"], WhenEmpty(Text("Choose a level"))]


class ScopesForm(Struct, frozen=True, kw_only=True):
    scopes: list[str] = []


@get("/admin/agents")
async def show_agents(work: Work, user: User) -> Response:
    agents = await operations.list_agents(work)
    everyone, each = await budget.list_spending(work, list(ROSTER))
    charts, figures = await draw_agents(work)
    return page(
        "admin/agents.html",
        user,
        here="/admin/agents",
        agents=agents,
        roster=ROSTER,
        levels=LEVELS,
        spending=each,
        everyone=everyone,
        charts=charts,
        figures=figures,
    )


@get("/admin/agents/{slug}")
async def show_agent(work: Work, user: User, slug: str, form: Form[Any] = Form()) -> Response:
    return await _show_agent(work, user, slug, form)


@post("/admin/agents/{slug}/level", shows=show_agent)
async def change_level(request: Request, work: Work, user: User, slug: str, form: Form[LevelForm]) -> Response:
    agent, level = await operations.get_agent(work, slug), Level[form.get().level]
    await operations.set_level(work, slug, level)
    before, after = {"level": agent.autonomy_level.name}, {"level": level.name}
    await log_platform(work, request, user, ChangeAction.AGENT_LEVEL_CHANGED, slug, before=before, after=after)
    return redirect(f"/admin/agents/{slug}?done=level")


@post("/admin/agents/{slug}/scopes")
async def change_scopes(request: Request, work: Work, user: User, slug: str, form: Form[ScopesForm]) -> Response:
    agent, scopes = await operations.get_agent(work, slug), sorted(form.get().scopes)
    await operations.set_scopes(work, slug, scopes)
    before, after = {"scopes": ", ".join(sorted(agent.scopes))}, {"scopes": ", ".join(scopes)}
    await log_platform(work, request, user, ChangeAction.AGENT_SCOPES_CHANGED, slug, before=before, after=after)
    return redirect(f"/admin/agents/{slug}?done=scopes")


async def _show_agent(
    work: Work, user: User, slug: str, form: Form[Any], *, new_key: tuple[str, str] | None = None
) -> Response:
    agent = await operations.get_agent(work, slug)
    keys = await list_credentials(work, CredentialKind.AGENT_KEY, slug)
    charts, reasons, today = await draw_agent(work, slug)
    recent, mails = await list_latest(work, slug, limit=RECENT)
    limit = budget.find_caps(work.runtime.settings, slug).own
    return page(
        "admin/agent.html",
        user,
        here="/admin/agents",
        notices=NOTICES,
        form=form,
        agent=agent,
        name=ROSTER[slug].name,
        spending=Spending(on=today.on, limit=limit, spent=today.spent_micros),
        today=today,
        categories=sorted(ROSTER[slug].categories),
        levels=LEVELS,
        scopes=[(scope, scope in agent.scopes, scope in ROSTER[slug].scopes) for scope in sorted(SCOPES)],
        keys=keys,
        expiries=EXPIRIES,
        new_key=new_key,
        charts=charts,
        reasons=reasons,
        recent=recent,
        results=STATUSES,
        mails=mails,
        mail_states=MAIL_STATES,
    )


class AgentKeyForm(Struct, frozen=True, kw_only=True):
    name: Annotated[KeyName, WhenEmpty(Text("Give the key a name, such as the machine that will use it"))]
    expires: Annotated[Literal["never", "30", "90", "365"], WhenEmpty(Text("Choose one of these"))]


class RotateForm(Struct, frozen=True, kw_only=True):
    hours: Annotated[Literal["0", "1", "24", "168"], WhenEmpty(Text("Choose one of these"))]


@post("/admin/agents/{slug}/keys", shows=show_agent)
async def create_key_of_agent(
    request: Request, work: Work, user: User, slug: str, form: Form[AgentKeyForm]
) -> Response:
    """Create a key and show it once, in this response."""
    await operations.get_agent(work, slug)
    sent = form.get()
    expires_at = expiry_of(sent.expires, now=work.now)
    key, credential = await create_agent_key(work, slug, name=sent.name, expires_at=expires_at)
    await _log(work, request, user, ChangeAction.AGENT_KEY_CREATED, slug, key=credential)
    return await _show_agent(work, user, slug, Form(), new_key=(credential.name, key))


@get("/admin/agents/{slug}/keys/{key_id}/rotate")
async def ask_to_rotate(work: Work, user: User, slug: str, key_id: UUID, form: Form[RotateForm] = Form()) -> Response:
    return await _ask(work, user, slug, key_id, template="admin/rotate_key.html", overlaps=OVERLAPS, form=form)


@post("/admin/agents/{slug}/keys/{key_id}/rotate", shows=ask_to_rotate)
async def rotate_agent_key(
    request: Request, work: Work, user: User, *, slug: str, key_id: UUID, form: Form[RotateForm]
) -> Response:
    """Create a key in place of another and show it once."""
    await _get_active_key(work, slug, key_id)
    kept_for = timedelta(hours=int(form.get().hours))
    made, credential = await rotate_credential(work, CredentialKind.AGENT_KEY, slug, key_id, kept_for=kept_for)
    await _log(work, request, user, ChangeAction.AGENT_KEY_ROTATED, slug, key=credential)
    return await _show_agent(work, user, slug, Form(), new_key=(credential.name, made))


@get("/admin/agents/{slug}/keys/{key_id}/deactivate")
async def ask_to_deactivate(work: Work, user: User, slug: str, key_id: UUID) -> Response:
    return await _ask(work, user, slug, key_id, template="admin/deactivate_key.html")


@post("/admin/agents/{slug}/keys/{key_id}/deactivate")
async def deactivate_agent_key(request: Request, work: Work, user: User, slug: str, key_id: UUID) -> Response:
    key = await _get_active_key(work, slug, key_id)
    await revoke_credential(work, CredentialKind.AGENT_KEY, slug, key_id)
    await _log(work, request, user, ChangeAction.AGENT_KEY_DEACTIVATED, slug, key=key)
    return redirect(f"/admin/agents/{slug}?done=revoked#keys")


async def _log(work: Work, request: Request, user: User, action: ChangeAction, slug: str, *, key: Credential) -> None:
    after = {"name": key.name, "ends_in": key.last_four}
    await log_platform(work, request, user, action, slug, subject_id=key.id, after=after)


async def _ask(work: Work, user: User, slug: str, key_id: UUID, *, template: str, **values: Any) -> Response:
    key = await _get_active_key(work, slug, key_id)
    return page(template, user, here="/admin/agents", slug=slug, agent=ROSTER[slug].name, key=key, **values)


async def _get_active_key(work: Work, slug: str, key_id: UUID) -> Credential:
    for key in await list_credentials(work, CredentialKind.AGENT_KEY, slug):
        if key.id == key_id and key.is_active(now=work.now):
            return key
    raise CredentialNotFound
