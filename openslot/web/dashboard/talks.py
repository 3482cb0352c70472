"""Pages: the conversations and the reply to one, and the calls."""

from typing import Any
from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.calls import operations as history
from openslot.calls.models import CallDirection, CallStatus
from openslot.calls.operations import CallsFilter
from openslot.conversations import operations as inbox
from openslot.conversations.models import Channel, MessageStatus
from openslot.conversations.operations import MESSAGES, InboxFilter
from openslot.core.errors import Conflict
from openslot.core.text import Prose
from openslot.core.work import Work
from openslot.i18n import PluralText, Text
from openslot.messaging import sending
from openslot.messaging.models import LONGEST_BODY
from openslot.messaging.words import REFUSALS
from openslot.routing import Form, Request, Response, get, post
from openslot.web.dashboard.curl import Curl, curl
from openslot.web.list_queries import ListQuery, Pager, read_list_query, read_page
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
CALL_DIRECTIONS = {CallDirection.INBOUND: Text("Incoming"), CallDirection.OUTBOUND: Text("Outgoing")}
CALL_STATUSES = {
    CallStatus.COMPLETED: Text("Completed"),
    CallStatus.NO_ANSWER: Text("No answer"),
    CallStatus.FAILED: Text("Failed"),
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


def length_of(seconds: int) -> Text:
    """Write `3 min 4 s`."""
    if seconds < 60:
        return PluralText("%(count)s s", "%(count)s s", count=seconds)
    if seconds < 3600:
        return Text("%(minutes)s min %(seconds)s s", minutes=seconds // 60, seconds=seconds % 60)
    return Text("%(hours)s h %(minutes)s min", hours=seconds // 3600, minutes=seconds // 60 % 60)


CALL_WORDS: dict[str, Any] = {"directions": CALL_DIRECTIONS, "statuses": CALL_STATUSES, "length_of": length_of}


@get("/calls")
async def show_calls(request: Request, work: Work, user: User) -> Response:
    """Show one page of the finished calls that the address asks for."""
    choices: dict[str, set[str]] = {"direction": set(CallDirection), "status": set(CallStatus)}
    query = read_list_query(request, user, "/calls", "q", "direction", "status", "from", "to", choices=choices)
    direction, status = query["direction"], query["status"]
    wanted = CallsFilter(
        search=query["q"],
        direction=CallDirection(direction) if direction else None,
        status=CallStatus(status) if status else None,
        span=query.span,
    )
    found, total = await history.list_calls(work, user, wanted, page=query.page, limit=ROWS)
    return page(
        "dashboard/calls/list.html",
        user,
        here="/calls",
        form=query.form,
        rows=found,
        **CALL_WORDS,
        is_narrowed=query.is_narrowed,
        pager=query.pager(total, ROWS),
        curl=_write_curl(work, user, query),
    )


@get("/calls/{call_id}")
async def show_call_page(work: Work, user: User, call_id: UUID) -> Response:
    known = await history.get_call(work, user, call_id)
    return page("dashboard/calls/call.html", user, here="/calls", known=known, **CALL_WORDS)


def _write_curl(work: Work, user: User, query: ListQuery) -> Curl | None:
    status = {"status": query["status"].upper()} if query["status"] else {}
    return curl(work, user, "/calls", query={**status, **query.days, "page": str(query.page), "limit": str(ROWS)})
