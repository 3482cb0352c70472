"""What is said of retries and of no-shows."""

from openslot.platform.core.revivals import RevivalVerdict
from openslot.platform.i18n import Text

# What a retry came to.
RETRY_NOTICES: dict[str, Text] = {
    RevivalVerdict.QUEUED: Text("It will be retried now."),
    RevivalVerdict.SKIPPED: Text("Not retried: a later change replaced it."),
    RevivalVerdict.LEFT: Text("Not retried: a later change is in progress. Try again soon."),
}
NO_SHOW_NOTICES: dict[str, Text] = {
    "no-show": Text("Marked as a no-show. Nobody is notified."),
    "no-show-removed": Text("The booking is no longer marked as a no-show."),
}
