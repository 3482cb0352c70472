"""What access refuses."""

from collections.abc import Mapping

from openslot.core.errors import Conflict, Forbidden, Invalid, NotFound, TooMany, Unauthorized
from openslot.i18n import Text


class LimitReached(TooMany):
    def __init__(self, message: str, *, limit: int, retry_after: int) -> None:
        super().__init__(message, retry_after=retry_after)
        self.limit = limit


class WrongSignIn(Unauthorized):
    """Email address or password is wrong, or the account is closed; the response is the same."""

    code = "wrong_sign_in"
    message = Text("The email address or the password is wrong")


class WrongPassword(Invalid):
    code = "wrong_password"
    message = Text("This is not your current password")
    faults: Mapping[str, str] = {"current": Text("is not your current password")}


class PasswordChanged(Conflict):
    code = "password_changed"
    message = Text("Your password was changed a moment ago by another request")
    faults: Mapping[str, str] = {
        "current": Text("was changed a moment ago on another device; sign in with the new one")
    }


class WrongCode(Invalid):
    """The code of the app or the recovery code is wrong, expired or was used before; the response is the same."""

    code = "wrong_code"
    message = Text("The code is wrong, has expired or was already used")
    faults: Mapping[str, str] = {"code": Text("is wrong, has expired or was already used")}


class SignInExpired(Unauthorized):
    code = "sign_in_expired"
    message = Text("Your sign-in has expired")


class NoPasswordYet(Conflict):
    code = "no_password_yet"
    message = Text("Your account has no password yet")


class TwoFactorIsOn(Conflict):
    code = "two_factor_is_on"
    message = Text("Two-factor authentication is already on")


class TwoFactorIsOff(Conflict):
    code = "two_factor_is_off"
    message = Text("Two-factor authentication is not on")


class SetupExpired(Conflict):
    code = "setup_expired"
    message = Text("The setup has expired. Start again")


class PlanWithoutApi(Forbidden):
    code = "plan_without_api"
    message = Text("API keys are available on the Pro and Business plans")


class PlanWithoutScim(Forbidden):
    code = "plan_without_scim"
    message = Text("SCIM needs an organization with the Business plan")


class CredentialNotFound(NotFound):
    code = "credential_not_found"
    message = Text("Key not found")


class CredentialRotated(Conflict):
    """The key or token was already rotated; two requests at once would otherwise create two new ones."""

    code = "credential_rotated"
    message = Text("This key was already rotated. Rotate the new key instead")


class KeyReused(Conflict):
    code = "idempotency_key_reused"
    message = Text("This Idempotency-Key was already used with a different request")


class AnswerLost(Conflict):
    """The request was carried out, but its response can't be decrypted because the key is lost."""

    code = "idempotency_answer_lost"
    message = Text("This request was already processed. The stored response is no longer available")


class StillRunning(Conflict):
    code = "idempotency_still_running"
    message = Text("A request with this Idempotency-Key is still in progress")


class SetupLinkInvalid(Forbidden):
    code = "setup_link_invalid"
    message = Text(
        "This setup link was already used, has expired or is incomplete. Restart the service to get a new one"
    )


class SessionNotFound(NotFound):
    code = "session_not_found"
    message = Text("Session not found")


class ResetLinkInvalid(Forbidden):
    code = "reset_link_invalid"
    message = Text("This link was already used, has expired or is incomplete")


class AddressLinkInvalid(Forbidden):
    """The link to confirm an email address is used, expired, wrong or for another account."""

    code = "address_link_invalid"
    message = Text("This link was already used, has expired or is incomplete")


class TooManyAddressChanges(Conflict):
    code = "too_many_address_changes"
    message = Text("Too many requests. Try again later")


class WeakPassword(Invalid):
    code = "weak_password"
    message = Text("The password must have 10 to 200 characters and no control characters")
    faults: Mapping[str, str] = {"password": Text("must have 10 to 200 characters and no control characters")}
