"""Pages: the conversations; one of them with its newest messages, the reply, and the question before it is deleted."""

from typing import Any
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.access.models import Entry
from openslot.domains.accounts.models import User
from openslot.domains.conversations.models import Channel, Conversation, MessageStatus
from openslot.domains.conversations.operations import (
    MESSAGES,
    InboxFilter,
    delete_thread,
    get_thread,
    get_thread_version,
    list_threads,
    mark_thread_read,
)
from openslot.domains.messaging import sending
from openslot.domains.messaging.models import LONGEST_BODY
from openslot.domains.messaging.words import REFUSALS
from openslot.doors.web.shared.curl import curl
from openslot.doors.web.shared.list_queries import Pager, read_list_query, read_page
from openslot.doors.web.shared.pages import NOT_KEPT, page, redirect
from openslot.platform.core.errors import Conflict
from openslot.platform.core.text import Prose
from openslot.platform.core.work import Work
from openslot.platform.flags.models import OutgoingChannel
from openslot.platform.flags.switches.operations import find_stop
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Request, Response, get, post

CHANNELS = {Channel.SMS: "SMS", Channel.WHATSAPP: "WhatsApp"}
ROWS = 25
NOTICES = {"sent": Text("The message is being sent.")}
LIST_NOTICES = {"deleted": Text("The conversation is deleted.")}
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


@get("/conversations")
async def show_conversations(request: Request, work: Work, user: User) -> Response:
    """Show one page of the threads that the address asks for."""
    choices = {"channel": set(Channel)}
    query = read_list_query(request, user, "/conversations", "q", "channel", "from", "to", choices=choices)
    chosen = query["channel"]
    wanted = InboxFilter(search=query["q"], channel=Channel(chosen) if chosen else None, span=query.span)
    found, total = await list_threads(work, user, wanted, page=query.page, limit=ROWS)
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
        notices=LIST_NOTICES,
    )


class ReplyForm(Struct, frozen=True, kw_only=True):
    content: Prose = ""


@get("/conversations/{conversation_id}")
async def show_conversation(
    request: Request, work: Work, user: User, *, entry: Entry, conversation_id: UUID, form: Form[ReplyForm] = Form()
) -> Response:
    """Show one page of a thread; its newest messages count as read from then on."""
    number, path = read_page(request), f"/conversations/{conversation_id}"
    thread = await get_thread(work, user, conversation_id, page=number)
    pages = -(-thread.message_count // MESSAGES)
    pager = Pager(
        page=number,
        pages=pages,
        # Older messages are on later pages, and are read upwards.
        earlier=f"{path}?page={number + 1}" if number < pages else None,
        later=f"{path}?page={number - 1}" if number > 1 else None,
    )
    is_read_now = number == 1 and thread.is_unread
    if is_read_now:
        await mark_thread_read(work, user, thread)
    return page(
        "dashboard/conversations/thread.html",
        user,
        here="/conversations",
        channel=CHANNELS[thread.channel],
        longest=LONGEST_BODY,
        pager=pager,
        form=form,
        unread_threads=entry.unread_threads - is_read_now,
        notices=NOTICES,
        **await _describe(work, user, thread),
    )


async def _describe(work: Work, user: User, thread: Conversation) -> dict[str, Any]:
    """Say what the list of messages shows, on the page and when it is fetched again."""
    has_number = await sending.find_number(work, user, thread.channel) is not None
    waits = any(message.status is MessageStatus.QUEUED for message in thread.messages)
    return {
        "thread": thread,
        "statuses": MESSAGE_STATUSES,
        "trouble": TROUBLE,
        "message_faults": REFUSALS,
        "reply_state": ("closed" if sending.is_window_closed(work, thread) else "open") if has_number else "none",
        "is_stopped": waits and await find_stop(work, OutgoingChannel(thread.channel.value)) is not None,
    }


@get("/conversations/{conversation_id}/messages")
async def send_new_messages(request: Request, work: Work, user: User, conversation_id: UUID) -> Response:
    """Send the newest messages for the page of a thread that is open, or nothing if it has them."""
    version = await get_thread_version(work, user, conversation_id)
    if request.headers.get("if-none-match") == f'"{version}"':
        return Response(status=304, headers={"etag": f'"{version}"', **NOT_KEPT})
    thread = await get_thread(work, user, conversation_id)
    if thread.is_unread:
        await mark_thread_read(work, user, thread)
    shown = page("dashboard/conversations/messages.html", user, **await _describe(work, user, thread))
    return replace(shown, headers={**shown.headers, "etag": f'"{thread.version}"'})


@get("/conversations/{conversation_id}/delete")
async def ask_to_delete_conversation(work: Work, user: User, conversation_id: UUID) -> Response:
    thread = await get_thread(work, user, conversation_id)
    channel = CHANNELS[thread.channel]
    return page("dashboard/conversations/delete.html", user, here="/conversations", thread=thread, channel=channel)


@post("/conversations/{conversation_id}/delete")
async def delete_conversation(work: Work, user: User, conversation_id: UUID) -> Response:
    await delete_thread(work, user, conversation_id)
    return redirect("/conversations?done=deleted")


@post("/conversations/{conversation_id}/reply", shows=show_conversation, at={Conflict: "content"})
async def reply_to_conversation(work: Work, user: User, conversation_id: UUID, form: Form[ReplyForm]) -> Response:
    """Let a message be sent on the channel of the thread."""
    await sending.reply(work, user, conversation_id, form.get().content)
    return redirect(f"/conversations/{conversation_id}?done=sent")
