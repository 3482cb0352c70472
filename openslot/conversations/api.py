"""REST reads: message threads."""

from typing import Annotated

from msgspec import Meta

from openslot.accounts.models import User
from openslot.conversations import operations
from openslot.conversations.schemas import ShownConversation, show_conversation
from openslot.core.moments import read_span
from openslot.core.phones import PhoneFilter
from openslot.core.work import Work
from openslot.routing import Query, get
from openslot.routing.declarations import From, Listing, PageNumber, ShortLimit, To, check_span, paginate

PhoneQuery = Annotated[PhoneFilter | None, Meta(description="Phone number, E.164"), Query()]


@get(check=check_span)
async def list_conversations(
    work: Work,
    user: User,
    *,
    phone: PhoneQuery = None,
    from_: From = None,
    to: To = None,
    page: PageNumber = 1,
    limit: ShortLimit = 20,
) -> Listing[ShownConversation]:
    """List your SMS and WhatsApp conversations, latest message first. `from` and `to` filter by the last message."""
    span = read_span(from_, to)
    found, total = await operations.list_conversations(work, user, phone=phone, span=span, page=page, limit=limit)
    return Listing(data=[show_conversation(each) for each in found], pagination=paginate(page, limit, total))
