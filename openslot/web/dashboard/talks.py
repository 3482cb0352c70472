"""Pages: the conversations, and the reply to one."""

from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.conversations import operations as inbox
from openslot.conversations.models import Channel, MessageStatus
from openslot.conversations.operations import MESSAGES, InboxFilter
from openslot.core.errors import Conflict
from openslot.core.text import Prose
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.messaging import sending
from openslot.messaging.models import LONGEST_BODY
from openslot.messaging.words import REFUSALS
from openslot.routing import Form, Request, Response, get, post
from openslot.web.dashboard.curl import curl
from openslot.web.list_queries import Pager, read_list_query, read_page
from openslot.web.pages import page, redirect

CHANNELS = {Channel.SMS: "SMS", Channel.WHATSAPP: "WhatsApp"}
ROWS = 25
NOTICES = {"sent": Text("The message is being sent.")}
MESSAGE_STATUSES = {
    MessageStatus.QUEUED: Text("waiting to be sent"),
    MessageStatus.SENDING: Text("being sent"),
    MessageStatus.UNKNOWN: Text("may not have been sent"),
    MessageStatus.SENT: Text("sent"),
    MessageStatus.DELIVERED: Text("delivered"),
    MessageStatus.READ: Text("read"),
    MessageStatus.UNDELIVERED: Text("not delivered"),
    MessageStatus.FAILED: Text("not delivered"),
    MessageStatus.CANCELED: Text("not sent"),
}
TROUBLE = {MessageStatus.UNKNOWN, MessageStatus.UNDELIVERED, MessageStatus.FAILED, MessageStatus.CANCELED}
FAULTS = {
    **REFUSALS,
    sending.NOT_CONNECTED: Text("the number was disconnected"),
    sending.UNAVAILABLE: Text("the provider could not be reached"),
    sending.HOST_LEFT: Text("the host's account is disabled, or the host has left the organization"),
}


@get("/conversations")
async def show_conversations(request: Request, work: Work, user: User) -> Response:
    """Show one page of the threads that the address asks for."""
    choices = {"channel": set(Channel)}
    query = read_list_query(request, user, "/conversations", "q", "channel", "from", "to", choices=choices)
    chosen = query["channel"]
    wanted = InboxFilter(search=query["q"], channel=Channel(chosen) if chosen else None, span=query.span)
    found, total = await inbox.list_threads(work, user, wanted, page=query.page, limit=ROWS)
    return page(
        "dashboard/conversations/list.html",
        user,
        here="/conversations",
        form=query.form,
        channels=CHANNELS,
        rows=found,
        is_narrowed=query.is_narrowed,
        pager=query.pager(total, ROWS),
        curl=curl(work, user, "/conversations", query={**query.days, "page": str(query.page), "limit": str(ROWS)}),
    )


class ReplyForm(Struct, frozen=True, kw_only=True):
    content: Prose = ""


@get("/conversations/{conversation_id}")
async def show_conversation(
    request: Request, work: Work, user: User, conversation_id: UUID, form: Form[ReplyForm] = Form()
) -> Response:
    number, path = read_page(request), f"/conversations/{conversation_id}"
    thread = await inbox.get_thread(work, user, conversation_id, page=number)
    pages = -(-thread.message_count // MESSAGES)
    pager = Pager(
        page=number,
        pages=pages,
        # Older messages are on later pages, and are read upwards.
        earlier=f"{path}?page={number + 1}" if number < pages else None,
        later=f"{path}?page={number - 1}" if number > 1 else None,
    )
    return page(
        "dashboard/conversations/thread.html",
        user,
        here="/conversations",
        thread=thread,
        channel=CHANNELS[thread.channel],
        statuses=MESSAGE_STATUSES,
        trouble=TROUBLE,
        message_faults=FAULTS,
        longest=LONGEST_BODY,
        pager=pager,
        form=form,
        can_reply=await sending.find_number(work, user, thread.channel) is not None,
        is_window_closed=sending.is_window_closed(work, thread),
        notices=NOTICES,
    )


@post("/conversations/{conversation_id}/reply", shows=show_conversation, at={Conflict: "content"})
async def reply_to_conversation(work: Work, user: User, conversation_id: UUID, form: Form[ReplyForm]) -> Response:
    """Let a message be sent on the channel of the thread."""
    await sending.reply(work, user, conversation_id, form.get().content)
    return redirect(f"/conversations/{conversation_id}?done=sent")
