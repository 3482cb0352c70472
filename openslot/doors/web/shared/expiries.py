"""How long a key lasts, as forms offer it."""

from datetime import datetime, timedelta

from openslot.platform.i18n import Text

# The choices of the form, by the value that is sent.
EXPIRIES = {
    "never": Text("Never"),
    "30": Text("After 30 days"),
    "90": Text("After 90 days"),
    "365": Text("After 365 days"),
}


def expiry_of(choice: str, *, now: datetime) -> datetime | None:
    return None if choice == "never" else now + timedelta(days=int(choice))
