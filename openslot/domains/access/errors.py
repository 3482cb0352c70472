"""What access refuses."""

from collections.abc import Mapping

from openslot.platform.core.errors import Conflict, Forbidden, Invalid, NotFound, RateLimited, Unauthorized
from openslot.platform.i18n import Text


class LimitReached(RateLimited):
    def __init__(self, message: str, *, limit: int, retry_after: int) -> None:
        super().__init__(message, retry_after=retry_after)
        self.limit = limit


class TooManyFailures(RateLimited):
    """Too many requests of this address had no valid credential."""

    code = "too_many_failed_authentications"
    message = Text("Too many failed authentications from this address")


class InvalidCredentials(Unauthorized):
    """Email address or password is wrong, or the account is closed; the response is the same."""

    code = "invalid_credentials"
    message = Text("The email address or the password is wrong")


class InvalidPassword(Invalid):
    code = "invalid_password"
    message = Text("This is not your current password")
    faults: Mapping[str, str] = {"current": Text("is not your current password")}


class PasswordChanged(Conflict):
    code = "password_changed"
    message = Text("Your password was changed a moment ago by another request")
    faults: Mapping[str, str] = {
        "current": Text("was changed a moment ago on another device; sign in with the new one")
    }


class InvalidCode(Invalid):
    """The code of the app or the recovery code is wrong, expired or was used before; the response is the same."""

    code = "invalid_code"
    message = Text("The code is wrong, has expired or was already used")
    faults: Mapping[str, str] = {"code": Text("is wrong, has expired or was already used")}


class SignInExpired(Unauthorized):
    code = "sign_in_expired"
    message = Text("Your sign-in has expired")


class PasswordRequired(Conflict):
    code = "password_required"
    message = Text("Your account has no password yet")


class TwoFactorAlreadyEnabled(Conflict):
    code = "two_factor_already_enabled"
    message = Text("Two-factor authentication is already on")


class TwoFactorNotEnabled(Conflict):
    code = "two_factor_not_enabled"
    message = Text("Two-factor authentication is not on")


class TwoFactorSetupExpired(Conflict):
    code = "two_factor_setup_expired"
    message = Text("The setup has expired. Start again")


class ApiPlanRequired(Forbidden):
    code = "api_plan_required"
    message = Text("API keys are available on the Pro and Business plans")


class ScimPlanRequired(Forbidden):
    code = "scim_plan_required"
    message = Text("SCIM needs an organization with the Business plan")


class CredentialNotFound(NotFound):
    code = "credential_not_found"
    message = Text("Key not found")


class CredentialAlreadyRotated(Conflict):
    """The key or token was already rotated; two requests at once would otherwise create two new ones."""

    code = "credential_already_rotated"
    message = Text("This key was already rotated. Rotate the new key instead")


class KeyReused(Conflict):
    code = "idempotency_key_reused"
    message = Text("This Idempotency-Key was already used with a different request")


class ResponseLost(Conflict):
    """The request was carried out, but its response can't be decrypted because the key is lost."""

    code = "idempotency_response_lost"
    message = Text("This request was already processed. The stored response is no longer available")


class KeyInUse(Conflict):
    code = "idempotency_key_in_use"
    message = Text("A request with this Idempotency-Key is still in progress")


class InvalidSetupLink(Forbidden):
    code = "invalid_setup_link"
    message = Text(
        "This setup link was already used, has expired or is incomplete. Restart the service to get a new one"
    )


class SessionNotFound(NotFound):
    code = "session_not_found"
    message = Text("Session not found")


class InvalidResetLink(Forbidden):
    code = "invalid_reset_link"
    message = Text("This link was already used, has expired or is incomplete")


class InvalidEmailLink(Forbidden):
    """The link to confirm an email address is used, expired, wrong or for another account."""

    code = "invalid_email_link"
    message = Text("This link was already used, has expired or is incomplete")


class EmailChangeLimitExceeded(Conflict):
    code = "email_change_limit_exceeded"
    message = Text("Too many requests. Try again later")


class WeakPassword(Invalid):
    code = "weak_password"
    message = Text("The password must have 10 to 200 characters and no control characters")
    faults: Mapping[str, str] = {"password": Text("must have 10 to 200 characters and no control characters")}
