"""What is refused, by the names of OAuth."""

from openslot.platform.core.errors import Conflict, Forbidden, NotFound, Refusal, RefusalKind, Unavailable
from openslot.platform.i18n import Text


class OAuthRefusal(Refusal):
    """A request that OAuth has a name for; the message is for those who write programs."""

    kind = RefusalKind.INVALID


class InvalidOAuthRequest(OAuthRefusal):
    """A parameter is missing, invalid or there twice."""

    code = "invalid_oauth_request"


class InvalidClient(OAuthRefusal):
    """The program is not known here, or no longer."""

    code = "invalid_client"
    kind = RefusalKind.UNAUTHENTICATED
    message = Text("This program is not known here, or its registration has expired. Connect it again")


class InvalidGrant(OAuthRefusal):
    """The code or refresh token is wrong, expired, used, revoked, or was issued to another program."""

    code = "invalid_grant"
    message = "The code or refresh token is wrong, has expired or was already used"


class InvalidScope(OAuthRefusal):
    code = "invalid_scope"
    message = Text("None of the scopes can be granted")


class InvalidTarget(OAuthRefusal):
    """The token is asked for another server than ours."""

    code = "invalid_target"
    message = Text("The resource must be the address of this tool server")


class UnsupportedGrantType(OAuthRefusal):
    code = "unsupported_grant_type"
    message = "The grant type must be authorization_code or refresh_token"


class UnsupportedResponseType(OAuthRefusal):
    code = "unsupported_response_type"
    message = Text("The response type must be code")


class InvalidRedirectUri(OAuthRefusal):
    """The address to return to is not one of the program's own, or is of a kind that is not allowed."""

    code = "invalid_redirect_uri"
    message = Text("The address to return to does not belong to this program")


class InvalidClientMetadata(OAuthRefusal):
    code = "invalid_client_metadata"


class ClientDocumentUnavailable(Unavailable):
    """The document that describes the program can't be read, or is not one; the message says why."""

    code = "client_document_unavailable"


class RegistrationClosed(Forbidden):
    code = "registration_closed"
    message = "Programs can't register themselves here. Use a client metadata document"


class AssistantsForbidden(Forbidden):
    """An organization of the user does not allow assistants."""

    code = "assistants_forbidden"
    message = Text("Your organization does not allow assistants")


class AssistantNotFound(NotFound):
    code = "assistant_not_found"
    message = Text("Assistant not found")


class AssistantApprovalNotFound(NotFound):
    """No such approval of the user or of the assistant, or it was decided so long ago that it was deleted."""

    code = "assistant_approval_not_found"
    message = Text("This request does not exist any more")


class CallDecided(Conflict):
    """The call was approved or declined before, or its time is over."""

    code = "call_decided"
    message = Text("This request was already decided, or its time is over")


class TooManyApprovals(Conflict):
    """The user has as many requests to decide as there can be."""

    code = "too_many_approvals"
    message = Text("Too many requests wait for the user's decision")


class AssistantScopeRequired(Forbidden):
    """A tool needs a scope that the user has not allowed."""

    code = "insufficient_scope"

    def __init__(self, scope: str) -> None:
        super().__init__(Text("The user has not allowed this: %(scope)s", scope=scope))
        self.scope = scope
