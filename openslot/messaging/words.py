"""Why a provider does not send a message, as pages say it."""

from openslot.i18n import Text
from openslot.messaging.models import RefusalReason

REFUSALS: dict[str, Text] = {
    RefusalReason.OPTED_OUT: Text("this person has replied STOP"),
    RefusalReason.INVALID_NUMBER: Text("the number can't get messages"),
    RefusalReason.NOT_ALLOWED: Text("the provider does not allow it"),
    RefusalReason.OUTSIDE_WINDOW: Text("WhatsApp allows a reply only within 24 hours"),
}
