"""What the wait list refuses."""

from openslot.platform.core.errors import Conflict, NotFound
from openslot.platform.i18n import Text


class WaitListOff(Conflict):
    """The event type has no wait list."""

    code = "wait_list_off"
    message = Text("This event type has no wait list")


class NothingToWaitFor(Conflict):
    """The day or the session has free times, or none at all that could become free."""

    code = "nothing_to_wait_for"
    message = Text("This day is not full: choose a free time, or another day")


class WaitListFull(Conflict):
    """So many people wait for the day that one more has no chance."""

    code = "wait_list_full"
    message = Text("The wait list of this day is full")


class TooManyWaits(Conflict):
    """The address waits for too many days of the host."""

    code = "too_many_waits"
    message = Text("This email address is on too many wait lists of this host")


class EntryNotFound(NotFound):
    """No such entry of a wait list, or it was removed."""

    code = "wait_list_entry_not_found"
    message = Text("Not on the wait list any more")


class OfferNotOpen(Conflict):
    """The time is not kept for this person any more."""

    code = "offer_not_open"
    message = Text("This time is no longer kept for you")
