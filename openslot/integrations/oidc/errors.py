"""What a sign-in through an identity provider refuses."""

from openslot.core.errors import Conflict, Forbidden, NotFound, Unavailable
from openslot.i18n import Text


class OidcOff(NotFound):
    """No identity provider is configured."""

    code = "oidc_off"


class OidcUnreachable(Unavailable):
    """The identity provider can't be reached, or its response is invalid; the log says why."""

    code = "oidc_unreachable"

    def __init__(self, reason: str) -> None:
        super().__init__(Text("The sign-in service can't be reached right now"), retry_after=10)
        self.reason = reason


class OidcDeclined(Forbidden):
    """The identity provider returned an error: the person has cancelled, or may not use this application."""

    code = "oidc_declined"
    message = Text("The sign-in was cancelled or not allowed by the sign-in service")


class OidcMismatch(Forbidden):
    """The response is not for a sign-in that this browser has started, or not from the provider; the log says why."""

    code = "oidc_mismatch"

    def __init__(self, reason: str, *, is_of_another: bool = False) -> None:
        super().__init__(Text("This sign-in could not be verified, or has expired"))
        self.reason = reason
        self.is_of_another = is_of_another
        """Whether the answer belongs to another sign-in than the one that this browser has begun last."""


class OidcNoAccount(Forbidden):
    """There is no account for this person, and none is created."""

    code = "oidc_no_account"
    message = Text("There is no account for you here")


class OidcEmailUnverified(Forbidden):
    """The provider does not say that the person's email address is verified, so that no account can be found by it."""

    code = "oidc_email_unverified"
    message = Text("The sign-in service does not confirm your email address")


class OidcAccountClosed(Forbidden):
    """The account of this person is disabled."""

    code = "oidc_account_closed"
    message = Text("Your account is disabled")


class IdentityTaken(Conflict):
    """The account is connected to another person of the provider, or this person to another account."""

    code = "identity_taken"
    message = Text("Another account is already connected")


class LastWayIn(Conflict):
    """An account without a password can't be disconnected from the provider."""

    code = "last_way_in"
    message = Text("Your account has no password yet, so this is your only way to sign in")
