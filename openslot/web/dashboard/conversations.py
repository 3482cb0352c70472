"""Pages: the list of conversations, one conversation, and the reply to it."""

from datetime import date, datetime
from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.conversations import operations as inbox
from openslot.conversations.models import (
    Channel,
    ChannelNotConnected,
    Conversation,
    Message,
    MessageDirection,
    MessageStatus,
)
from openslot.conversations.operations import MESSAGES, InboxFilter
from openslot.core.errors import Invalid
from openslot.core.text import Prose
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.routing import Form, Request, Response, get, post
from openslot.web import words
from openslot.web.dashboard.curl import curl
from openslot.web.list_queries import Pager, read_list_query, read_page
from openslot.web.pages import page, redirect

CHANNELS = {Channel.SMS: "SMS", Channel.WHATSAPP: "WhatsApp"}
NO_TEXT = Text("A message without text")
LONGEST = 200
ROWS = 25
NOTICES = {"sent": Text("The message was sent.")}
STATUSES = {
    MessageStatus.QUEUED: Text("waiting to be sent"),
    MessageStatus.DELIVERED: Text("delivered"),
    MessageStatus.READ: Text("read"),
    MessageStatus.FAILED: Text("not delivered"),
}


class ThreadRow(Struct, frozen=True, kw_only=True):
    id: UUID
    name: str
    channel: str
    at: Text | date
    newest: str
    is_own: bool


def thread_row(thread: Conversation, user: User, *, now: datetime) -> ThreadRow:
    newest: Message | None = thread.messages[-1] if thread.messages else None
    return ThreadRow(
        id=thread.id,
        name=thread.contact.name if thread.contact else thread.contact_phone,
        channel=CHANNELS[thread.channel],
        at=words.moment(thread.last_message_at, user.zone, now=now),
        newest=(newest.content[:LONGEST] if newest else "") or NO_TEXT,
        is_own=newest is not None and newest.direction is MessageDirection.OUTBOUND,
    )


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
        rows=[thread_row(each, user, now=work.now) for each in found],
        is_narrowed=query.is_narrowed,
        pager=query.pager(total, ROWS),
        curl=curl(work, user, "/conversations", query={**query.days, "page": str(query.page), "limit": str(ROWS)}),
    )


class ReplyForm(Struct, frozen=True, kw_only=True):
    content: Prose = ""


class MessageRow(Struct, frozen=True, kw_only=True):
    content: str
    at: Text
    is_own: bool
    status: Text | None
    is_bad: bool


@get("/conversations/{conversation_id}")
async def show_conversation(request: Request, work: Work, user: User, conversation_id: UUID) -> Response:
    number = read_page(request)
    thread = await inbox.get_thread(work, user, conversation_id, page=number)
    return await _show(work, user, thread, Form(), number, notice=NOTICES.get(request.query.get("done", "")))


@post("/conversations/{conversation_id}/reply", transaction="none")
async def reply_to_conversation(work: Work, user: User, conversation_id: UUID, form: Form[ReplyForm]) -> Response:
    """Send a message on the channel of the thread."""
    if not form.faults:
        try:
            await inbox.reply(work, user, conversation_id, form.get().content)
        except Invalid as refusal:
            form = form.with_faults(refusal.faults)
        except ChannelNotConnected as refusal:
            form = form.with_faults({"content": refusal.sentence})
    if form.faults:
        return await _show(work, user, await inbox.get_thread(work, user, conversation_id), form, 1)
    return redirect(f"/conversations/{conversation_id}?done=sent")


async def _show(
    work: Work, user: User, thread: Conversation, form: Form[ReplyForm], number: int, *, notice: Text | None = None
) -> Response:
    pages, path = -(-thread.message_count // MESSAGES), f"/conversations/{thread.id}"
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
        status=400 if form.faults else 200,
        thread=thread,
        channel=CHANNELS[thread.channel],
        messages=[_row(each, user, now=work.now) for each in thread.messages],
        pager=pager,
        form=form,
        can_reply=await inbox.find_messenger(work, user, thread.channel) is not None,
        notice=notice,
    )


def _row(message: Message, user: User, *, now: datetime) -> MessageRow:
    return MessageRow(
        content=message.content or NO_TEXT,
        at=words.at(message.at, user.zone, now=now),
        is_own=message.direction is MessageDirection.OUTBOUND,
        status=STATUSES.get(message.status),
        is_bad=message.status is MessageStatus.FAILED,
    )
