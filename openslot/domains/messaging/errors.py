"""What messaging refuses."""

from openslot.platform.core.errors import Conflict, Forbidden, NotFound, Unavailable
from openslot.platform.i18n import Text


class MessagingNotConnected(NotFound):
    """There is no such connection to a message provider, or it was disconnected."""

    code = "messaging_connection_not_found"
    message = Text("This number is not connected")


class MessagingConnectionChanged(Conflict):
    """Another number was connected or disconnected at the same time."""

    code = "messaging_connection_changed"
    message = Text("Another number was connected or disconnected meanwhile. Try again")


class MessageNoticeRefused(Forbidden):
    """A notice is not from the message provider of this connection, or there is no such connection."""

    code = "message_notice_refused"
    message = Text("The notice is not valid")


class MessageFileNotFound(NotFound):
    """No such file of a message, or it is gone, too large, of a type that is not shown, or somebody else's."""

    code = "message_file_not_found"
    message = Text("This file is gone, too large, or of a type that is not shown")


class MessageFileUnavailable(Unavailable):
    """The message provider does not give a file at the moment."""

    code = "message_file_unavailable"
    message = Text("The provider can't be reached")


class MessageLimitReached(Conflict):
    """The host, the number or the recipient has as many messages as are allowed in 24 hours."""

    code = "message_limit_exceeded"
    message = Text("The limit of messages in 24 hours is reached. Try again later")


class CountryNotAllowed(Conflict):
    """The number sends no messages to the country of the recipient; its owner chooses the countries."""

    code = "message_country_not_allowed"
    message = Text("This number sends no messages to that country. Its owner chooses the countries")


class RecipientOptedOut(Conflict):
    """The recipient has asked for no more messages."""

    code = "recipient_opted_out"
    message = Text("This person has replied STOP and gets no messages until they reply START")


class WhatsAppWindowClosed(Conflict):
    """The contact has not written on WhatsApp for 24 hours."""

    code = "whatsapp_window_closed"
    message = Text("WhatsApp allows a reply only within 24 hours of the last message from this person")
