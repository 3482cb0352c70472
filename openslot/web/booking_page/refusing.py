"""What a form says when it could not be carried out."""

from openslot.core.errors import Refusal, TooMany
from openslot.i18n import Text
from openslot.web import words

TOO_MANY = Text("Too many bookings were sent from your network. What you typed is still here.")


def list_notices(refusal: Refusal, is_open: bool) -> tuple[str, ...]:
    """Say why nothing was done, unless the fields or the chosen time say it already."""
    if isinstance(refusal, TooMany):
        return (TOO_MANY, words.wait(refusal.retry_after))
    if refusal.faults or refusal.status == 400 or not is_open:
        return ()
    return (Text("%(message)s.", message=refusal.sentence),)
