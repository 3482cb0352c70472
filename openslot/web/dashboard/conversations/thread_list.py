"""Pages: the list of conversations."""

from openslot.accounts.models import User
from openslot.conversations import inbox
from openslot.conversations.inbox import InboxFilter
from openslot.conversations.models import Channel
from openslot.core.work import Work
from openslot.routing import Request, Response, get
from openslot.web.dashboard.conversations.thread_rows import CHANNELS, thread_row
from openslot.web.dashboard.curl import curl
from openslot.web.dashboard.list_queries import read_list_query
from openslot.web.pages import page

ROWS = 25


@get("/conversations")
async def show_conversations(request: Request, work: Work, user: User) -> Response:
    """Show one page of the threads that the address asks for."""
    choices = {"channel": frozenset(Channel)}
    query = read_list_query(request, user, "/conversations", choices=choices, days=True)
    chosen = query.form["channel"]
    wanted = InboxFilter(search=query.search, channel=Channel(chosen) if chosen else None, span=query.span)
    found, total = await inbox.list_threads(work, user, wanted, page=query.page, limit=ROWS)
    return page(
        "dashboard/conversations/list.html",
        user,
        here="/conversations",
        status=query.status,
        form=query.form,
        channels=CHANNELS,
        rows=[thread_row(each, user, now=work.now) for each in found],
        is_narrowed=query.is_narrowed,
        pager=query.pager(total, ROWS),
        curl=curl(work, user, "/conversations", query={**query.days, "page": str(query.page), "limit": str(ROWS)}),
    )
