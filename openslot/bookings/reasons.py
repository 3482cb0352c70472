"""The reasons that Openslot itself gives for cancelling or rescheduling a booking."""

from openslot.i18n import Text, recall

LEFT = Text("%(host)s is no longer with %(organization)s")
UNAVAILABLE = Text("%(host)s is not available any more")
CALENDAR_CHANGED = Text("Changed in the host's calendar")
OWN = (LEFT, UNAVAILABLE, CALENDAR_CHANGED)


def show_reason(reason: str) -> str:
    """Return a stored reason as a text that can be translated if it is our own; what people wrote stays as it is."""
    return recall(reason, OWN)
