"""All pages of conversations."""

from openslot.routing.declarations import HandlerFunction
from openslot.web.dashboard.conversations.thread_list import show_conversations
from openslot.web.dashboard.conversations.thread_page import reply_to_conversation, show_conversation

CONVERSATIONS: list[HandlerFunction] = [show_conversations, show_conversation, reply_to_conversation]
