"""The links of an event type: the address that people book at, and the pages around it."""

from urllib.parse import quote, urlencode

from msgspec import Struct

from openslot.accounts.models import User
from openslot.core.work import Work
from openslot.event_types.models import EventType, EventTypeOverview
from openslot.i18n import Text


class OfferLinks(Struct, frozen=True, kw_only=True):
    """Where an event type can be booked; None for a private one whose link can't be shown any more."""

    url: str | None
    qr: str | None


def links_of(work: Work, user: User, overview: EventTypeOverview) -> OfferLinks:
    """Write the links of an event type; a private one's contain its token."""
    event_type = overview.event_type
    if event_type.is_private and overview.token is None:
        return OfferLinks(url=None, qr=None)
    path = f"/{quote(user.username)}/{event_type.slug}"
    query = f"?{urlencode({'token': overview.token})}" if overview.token else ""
    return OfferLinks(url=f"{work.runtime.settings.public_url}{path}{query}", qr=f"{path}/qr{query}")


def state_of(event_type: EventType) -> tuple[Text, str]:
    """Say whether an event type can be booked, and by whom."""
    if not event_type.active:
        return Text("Archived"), ""
    if event_type.is_private:
        return Text("Private"), "warn"
    return Text("Public"), "good"
