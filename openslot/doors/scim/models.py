"""The nouns of SCIM."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from openslot.platform.core.moments import Span


class AnsweredRequest(Struct, frozen=True, kw_only=True):
    """What a provider asked for, and how it was answered."""

    at: datetime
    method: str
    path: str
    status: int
    member_id: UUID | None
    user_name: str | None
    detail: str | None
    """Why it was refused."""


class NewRequest(AnsweredRequest, frozen=True, kw_only=True):
    token_id: UUID


class LoggedRequest(AnsweredRequest, frozen=True, kw_only=True):
    id: int
    token_name: str


class RequestFilter(Struct, frozen=True, kw_only=True):
    method: str = ""
    status: str = ""
    """The first digit: `2`, `4` or `5`; empty for all."""
    path: str = ""
    user: str = ""
    token_id: UUID | None = None
    span: Span = Span()
