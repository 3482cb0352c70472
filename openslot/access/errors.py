"""What access refuses."""

from openslot.core.errors import Conflict, Forbidden, Invalid, NotFound, TooMany, Unauthorized
from openslot.i18n import Text


class LimitReached(TooMany):
    """All requests that a limit allows in a minute were made."""

    def __init__(self, message: str, *, limit: int, retry_after: int) -> None:
        super().__init__(message, retry_after=retry_after)
        self.limit = limit


class WrongSignIn(Unauthorized):
    """Email address or password is wrong, or the account is closed; the response is the same."""

    code = "wrong_sign_in"
    message = Text("The email address or the password is wrong")


class WrongPassword(Invalid):
    code = "wrong_password"

    def __init__(self) -> None:
        super().__init__(
            Text("This is not your current password"), details={"current": Text("is not your current password")}
        )


class PasswordChanged(Conflict):
    """Another request has changed the password since it was checked."""

    code = "password_changed"

    def __init__(self) -> None:
        super().__init__(
            Text("Your password was changed a moment ago by another request"),
            details={"current": Text("was changed a moment ago on another device; sign in with the new one")},
        )


class WrongCode(Invalid):
    """The code of the app or the recovery code is wrong, expired or was used before; the response is the same."""

    code = "wrong_code"

    def __init__(self) -> None:
        super().__init__(
            Text("The code is wrong, has expired or was already used"),
            details={"code": Text("is wrong, has expired or was already used")},
        )


class SignInExpired(Unauthorized):
    """The first step of the sign-in was too long ago, or the password has changed since."""

    code = "sign_in_expired"
    message = Text("Your sign-in has expired")


class NoPasswordYet(Conflict):
    """The account has no password yet, and this requires one."""

    code = "no_password_yet"
    message = Text("Your account has no password yet")


class TwoFactorIsOn(Conflict):
    code = "two_factor_is_on"
    message = Text("Two-factor authentication is already on")


class TwoFactorIsOff(Conflict):
    code = "two_factor_is_off"
    message = Text("Two-factor authentication is not on")


class SetupExpired(Conflict):
    """The set-up of two-factor authentication was begun too long ago, elsewhere, or not at all."""

    code = "setup_expired"
    message = Text("The setup has expired. Start again")


class PlanWithoutApi(Forbidden):
    """API keys are available on the Pro and Business plans."""

    code = "plan_without_api"
    message = Text("API keys are available on the Pro and Business plans")


class PlanWithoutScim(Forbidden):
    """SCIM is available on the Business plan."""

    code = "plan_without_scim"
    message = Text("SCIM needs an organization with the Business plan")


class CredentialNotFound(NotFound):
    """No such key or token, or it belongs to somebody else."""

    code = "credential_not_found"
    message = Text("Key not found")


class CredentialRotated(Conflict):
    """The key or token was already rotated; two requests at once would otherwise create two new ones."""

    code = "credential_rotated"
    message = Text("This key was already rotated. Rotate the new key instead")


class KeyReused(Conflict):
    """The Idempotency-Key was used for another request."""

    code = "idempotency_key_reused"
    message = Text("This Idempotency-Key was already used with a different request")


class AnswerLost(Conflict):
    """The request was carried out, but its response can't be decrypted because the key is lost."""

    code = "idempotency_answer_lost"
    message = Text("This request was already processed. The stored response is no longer available")


class StillRunning(Conflict):
    """The first request with this Idempotency-Key has not been answered yet."""

    code = "idempotency_still_running"
    message = Text("A request with this Idempotency-Key is still in progress")


class SetupLinkInvalid(Forbidden):
    """The set-up link is used, expired or wrong."""

    code = "setup_link_invalid"
    message = Text(
        "This setup link was already used, has expired or is incomplete. Restart the service to get a new one"
    )


class SessionNotFound(NotFound):
    """No such session, or it belongs to somebody else."""

    code = "session_not_found"
    message = Text("Session not found")


class ResetLinkInvalid(Forbidden):
    """The link to choose a new password is used, expired or wrong."""

    code = "reset_link_invalid"
    message = Text("This link was already used, has expired or is incomplete")


class AddressLinkInvalid(Forbidden):
    """The link to confirm an email address is used, expired, wrong or for another account."""

    code = "address_link_invalid"
    message = Text("This link was already used, has expired or is incomplete")


class TooManyAddressChanges(Conflict):
    """The user has reached the limit of links to new email addresses."""

    code = "too_many_address_changes"
    message = Text("Too many requests. Try again later")


class WeakPassword(Invalid):
    """The password is too short or too long, or has control characters."""

    code = "weak_password"

    def __init__(self) -> None:
        super().__init__(
            Text("The password must have 10 to 200 characters and no control characters"),
            details={"password": Text("must have 10 to 200 characters and no control characters")},
        )
