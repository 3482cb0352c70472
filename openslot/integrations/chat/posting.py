"""One message to the team chat as an effect: tried again while that may help."""

from openslot.core.destinations import Destination
from openslot.core.events import Done, Effect, GiveUp, Outcome, Skipped, TryLater
from openslot.core.work import Work
from openslot.integrations.chat.ports import Chat, ChatDeferred, ChatRefused


def team_chat(work: Work, _: Effect) -> Destination | None:
    """Name the destination of messages: one chat, owned by the operator; none where there is none."""
    return Destination("team chat", None) if work.runtime.ports.get(Chat).is_open else None


async def post(work: Work, text: str) -> Outcome:
    """Post one message."""
    chat = work.runtime.ports.get(Chat)
    if not chat.is_open:
        return Skipped("no team chat is configured")
    try:
        await chat.post(work.runtime.outbound.on_behalf_of(None), text)
    except ChatRefused as fault:
        raise GiveUp(str(fault), answered=True) from None
    except ChatDeferred as fault:
        raise TryLater(str(fault), after=fault.after) from None
    return Done()
