"""REST reads: message threads."""

from litestar import get
from litestar.di import NamedDependency

from openslot.accounts.models import User
from openslot.conversations import operations
from openslot.conversations.schemas import ShownConversation, show_conversation
from openslot.core.moments import MOMENTS, From, To, read_span
from openslot.core.paging import Listing, Page, ShortLimit, paginate
from openslot.core.phones import PHONES, PhoneFilter
from openslot.core.responses import ERRORS
from openslot.core.work import Work


@get(
    "/conversations",
    tags=["Conversations"],
    summary="List message threads",
    operation_id="listConversations",
    responses=ERRORS,
    type_decoders=[MOMENTS, PHONES],
)
async def list_conversations(
    work: NamedDependency[Work],
    user: NamedDependency[User],
    *,
    phone: PhoneFilter = None,
    from_: From = None,
    to: To = None,
    page: Page = 1,
    limit: ShortLimit = 20,
) -> Listing[ShownConversation]:
    """List your SMS and WhatsApp threads, newest message first; `from` and `to` act on a thread's last message."""
    span = read_span(from_, to)
    found, total = await operations.list_conversations(work, user, phone=phone, span=span, page=page, limit=limit)
    return Listing(data=[show_conversation(each) for each in found], pagination=paginate(page, limit, total))
