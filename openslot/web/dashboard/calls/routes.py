"""All pages of calls."""

from openslot.routing.declarations import HandlerFunction
from openslot.web.dashboard.calls.call_pages import show_call_page, show_calls

CALLS: list[HandlerFunction] = [show_calls, show_call_page]
