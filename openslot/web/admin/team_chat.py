"""Pages: what the team chat is told, also where there is none."""

from openslot.accounts.models import User
from openslot.agents import chat
from openslot.core.events import EffectState
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.routing import Response, get
from openslot.web.pages import page

WAITS = (Text("Being posted"), "wait")
STATES = {
    EffectState.DONE: (Text("Posted"), "good"),
    EffectState.SKIPPED: (Text("Not posted"), "off"),
    EffectState.DEAD: (Text("Failed"), "bad"),
}


@get("/admin/team-chat")
async def show_team_chat(work: Work, user: User) -> Response:
    messages = await chat.list_feed(work)
    return page(
        "admin/team_chat.html",
        user,
        here="/admin/team-chat",
        messages=[(each, *STATES.get(each.state, WAITS)) for each in messages],
        has_chat=work.runtime.settings.chat_webhook is not None,
    )
