"""What happened to a user's connection with the identity provider."""

from typing import ClassVar

from openslot.domains.accounts.events import UserEvent
from openslot.platform.core.events import Event


class IdentityConnected(UserEvent, frozen=True, kw_only=True):
    """A user can sign in through the identity provider from now on."""

    type: ClassVar[str] = "identity.connected"
    issuer: str


class IdentityDisconnected(UserEvent, frozen=True, kw_only=True):
    """A user can no longer sign in through the identity provider."""

    type: ClassVar[str] = "identity.disconnected"
    issuer: str


OIDC_EVENTS: tuple[type[Event], ...] = (IdentityConnected, IdentityDisconnected)
