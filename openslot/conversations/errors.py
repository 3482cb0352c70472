"""What conversations refuse."""

from openslot.core.errors import Conflict, NotFound
from openslot.i18n import Text


class ConversationNotFound(NotFound):
    """No such conversation, or it belongs to somebody else."""

    code = "conversation_not_found"
    message = Text("Conversation not found")


class ChannelNotConnected(Conflict):
    """A reply was sent on a channel that the owner has not connected."""

    code = "channel_not_connected"
    message = Text("You have not connected this channel, so the message was not sent")
