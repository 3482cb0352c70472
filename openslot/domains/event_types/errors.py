"""What event types refuse."""

from collections.abc import Mapping

from openslot.platform.core.errors import Conflict, Gone, NotFound
from openslot.platform.i18n import Text


class EventTypeNotFound(NotFound):
    """No such event type, it belongs to somebody else, or it can't be booked."""

    code = "event_type_not_found"
    message = Text("Event type not found")


class EventTypeSlugAlreadyExists(Conflict):
    """The owner has another event type with this slug."""

    code = "event_type_slug_already_exists"
    message = Text("Another of your event types has this slug")
    faults: Mapping[str, str] = {"slug": Text("is taken")}


class EventTypeChanged(Conflict):
    """Somebody else has changed the event type since it was read."""

    code = "event_type_changed"
    message = Text("This event type was changed in the meantime. Reload it and try again")


class EventTypeInUse(Conflict):
    """The event type has bookings and can't be deleted; it can be switched off."""

    code = "event_type_in_use"
    message = Text("This event type has bookings. Deactivate it instead")


class LinkNotFound(NotFound):
    """No such link, or it belongs to somebody else."""

    code = "link_not_found"
    message = Text("Link not found")


class TooManyLinks(Conflict):
    """The event type has as many open links as it can have."""

    code = "too_many_links"
    message = Text("This event type has too many open links. Revoke some of them first")


class LinkClosed(Gone):
    """Nothing can be booked through the link any more."""


class LinkUsedUp(LinkClosed):
    """The link was used for as many bookings as it is for."""

    code = "link_used_up"
    message = Text("This link was already used")


class LinkEnded(LinkClosed):
    """The time until which the link could be used is over."""

    code = "link_ended"
    message = Text("This link has expired")


class LinkRevoked(LinkClosed):
    """The host has revoked the link."""

    code = "link_revoked"
    message = Text("The host has revoked this link")


class HostNotFound(NotFound):
    """No such host, or the host's page is closed."""

    code = "host_not_found"
    message = Text("Page not found")
