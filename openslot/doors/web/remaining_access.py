"""Pages: all that can still act as a user after a new password, to be ended at once."""

from msgspec import Struct

from openslot.domains.access import sessions
from openslot.domains.access.models import Credential, CredentialKind, Session
from openslot.domains.access.operations import list_credentials, revoke_credential
from openslot.domains.accounts.models import User
from openslot.doors.oauth.models import AssistantGrant
from openslot.doors.oauth.operations import end_assistant_grant, list_assistants
from openslot.doors.web.sessions import ACCESS, PATH, name_browser
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Response, get, post

NOTICES = {"ended": Text("What was ticked has no access to your account any more.")}


class AccessForm(Struct, frozen=True, kw_only=True):
    """What is ended; what is not named stays."""

    assistant: list[str] = []
    key: list[str] = []
    session: list[str] = []


class Access(Struct, frozen=True, kw_only=True):
    """What can act as a user, besides the browser in which they look at it."""

    assistants: list[AssistantGrant]
    keys: list[Credential]
    sessions: list[Session]

    @property
    def is_empty(self) -> bool:
        return not (self.assistants or self.keys or self.sessions)


@get("/settings/access")
async def show_access(work: Work, user: User) -> Response:
    """Show assistants, API keys and other sessions, all of them ticked."""
    found = await _list_access(work, user)
    return page("sign_up/access.html", user, here=PATH, notices=NOTICES, found=found, name_browser=name_browser)


@post("/settings/access")
async def end_access(work: Work, user: User, form: Form[AccessForm]) -> Response:
    """End what is ticked; what has ended meanwhile, or was never the user's, is passed over."""
    sent, found = form.get(), await _list_access(work, user)
    for grant in found.assistants:
        if str(grant.id) in sent.assistant:
            await end_assistant_grant(work, user, grant.id)
    for key in found.keys:
        if str(key.id) in sent.key:
            await revoke_credential(work, CredentialKind.API_KEY, user.id, key.id)
    for session in found.sessions:
        if str(session.id) in sent.session:
            await sessions.end_session(work, user, session.id)
    return redirect(f"{ACCESS}?done=ended")


async def _list_access(work: Work, user: User) -> Access:
    keys = await list_credentials(work, CredentialKind.API_KEY, user.id)
    return Access(
        assistants=await list_assistants(work, user),
        keys=[each for each in keys if each.is_active(now=work.now)],
        sessions=[each for each in await sessions.list_sessions(work, user) if each.id != work.actor.credential_id],
    )
