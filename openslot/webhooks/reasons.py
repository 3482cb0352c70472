"""Why an endpoint was switched off: stored in English, and shown in the reader's language."""

from openslot.i18n import Text

IS_GONE, HAS_FAILED = "It answered 410: it is gone.", "Every delivery has failed for 5 days."
SHOWN = {
    IS_GONE: Text("It answered 410, which means that it is gone."),
    HAS_FAILED: Text("Every delivery has failed for 5 days."),
}


def show_switch_off(reason: str) -> str:
    """Return a stored reason as a text that can be translated."""
    return SHOWN.get(reason, reason)
