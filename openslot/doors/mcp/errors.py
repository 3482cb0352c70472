"""Refusals that every tool server has."""

from collections.abc import Mapping
from typing import ClassVar

from openslot.platform.core.errors import Forbidden, Refusal, RefusalKind


class RpcRefusal(Refusal):
    """A call that is refused before its tool runs, with an error of JSON-RPC; `data` goes out beside the reason."""

    kind = RefusalKind.FORBIDDEN
    rpc_code: ClassVar[int]

    def __init__(self, message: str, *, data: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.data: dict[str, object] = {"reason": self.code, **(data or {})}


class WaitsForApproval(RpcRefusal):
    """A call that runs when somebody has approved it."""

    code = "approval_required"
    rpc_code = -32013


class NotApproved(RpcRefusal):
    """A call that was rejected, or that nobody has decided in time."""

    code = "approval_refused"
    rpc_code = -32018


class OriginNotAllowed(Forbidden):
    """The request names another site as its origin or its host."""

    code = "origin_not_allowed"

    def __init__(self, header: str) -> None:
        super().__init__(f"The header {header} must name this installation")
