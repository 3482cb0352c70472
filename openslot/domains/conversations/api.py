"""REST reads: message threads, and their wire shapes."""

from typing import Annotated

from msgspec import Meta, Struct

from openslot.domains.accounts.models import User
from openslot.domains.conversations import operations
from openslot.domains.conversations.models import Channel, Conversation, MessageDirection
from openslot.platform.core.moments import read_span
from openslot.platform.core.shapes import Shape
from openslot.platform.core.text import PhoneFilter
from openslot.platform.core.times import Instant
from openslot.platform.core.work import Work
from openslot.platform.routing import Query, get
from openslot.platform.routing.listings import From, Listing, PageNumber, ShortLimit, To, check_span, paginate


class ShownMessage(Struct, frozen=True, kw_only=True):
    """A message in a conversation."""

    content: Annotated[str, Meta(examples=["Could we meet an hour later?"])]
    direction: Annotated[MessageDirection, Meta(description="inbound: sent by the contact", examples=["inbound"])]
    timestamp: Instant


class ThreadContact(Struct, frozen=True, kw_only=True):
    """The contact with this phone number."""

    id: Annotated[str, Meta(examples=["01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e91"])]
    name: Annotated[str, Meta(examples=["Jonas Weber"])]


class ShownConversation(Struct, frozen=True, kw_only=True, rename="camel"):
    """A conversation with one phone number."""

    id: Annotated[str, Meta(examples=["01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e92"])]
    contact_phone: Annotated[str, Meta(description="E.164", examples=["+493012345678"])]
    channel: Annotated[Channel, Meta(examples=["sms"])]
    messages: Annotated[list[ShownMessage], Meta(description="The latest 50 messages, oldest first", max_length=50)]
    message_count: Annotated[int, Meta(description="Total number of messages", examples=[1])]
    contact: Annotated[ThreadContact | None, Meta(description="The contact with this phone number, if there is one")]
    created_at: Instant
    updated_at: Instant


show_conversation = Shape(ShownConversation, Conversation, names={"timestamp": "at"}).show

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
