"""How Stripe refuses a request."""

from typing import Any


class StripeRefusal(Exception):
    """An answer with a status of 400 or above, in Stripe's shape."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        type_: str = "invalid_request_error",
        code: str | None = None,
        param: str | None = None,
        headers: dict[str, str] | None = None,
        is_kept: bool = True,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}
        self.is_kept = is_kept
        """Whether it is the answer to the request's idempotency key from now on; faults in parameters are not."""
        told = {"code": code, "message": message, "param": param, "type": type_}
        self.body: dict[str, Any] = {"error": {name: value for name, value in told.items() if value is not None}}


def missing(kind: str, id_: str, param: str = "id", *, status: int = 404) -> StripeRefusal:
    """Refuse an id that nothing has."""
    return StripeRefusal(status, f"No such {kind}: '{id_}'", code="resource_missing", param=param)
