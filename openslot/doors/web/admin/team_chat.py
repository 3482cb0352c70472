"""Pages: what the team chat is told, also where there is none."""

from openslot.domains.accounts.models import User
from openslot.doors.agents.chat.operations import list_chat_feed
from openslot.doors.web.shared.pages import page
from openslot.platform.core.events import EffectState
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Response, get

WAITS = (Text("Being posted"), "wait")
STATES = {
    EffectState.DONE: (Text("Posted"), "good"),
    EffectState.SKIPPED: (Text("Not posted"), "off"),
    EffectState.DEAD: (Text("Failed"), "bad"),
}


@get("/admin/team-chat")
async def show_team_chat(work: Work, user: User) -> Response:
    messages = await list_chat_feed(work)
    return page(
        "admin/team_chat.html",
        user,
        here="/admin/team-chat",
        messages=[(each, *STATES.get(each.state, WAITS)) for each in messages],
        has_chat=work.runtime.settings.chat_webhook is not None,
    )
