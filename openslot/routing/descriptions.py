"""What the API's description contains in addition to the handlers' declarations."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

JsonSchema = dict[str, Any]


class DescribedAs(Struct, frozen=True):
    """Marks a result that a function returns half written: its JSON is that of another type."""

    kind: Any


def described_type(returns: Any) -> Any:
    """Return the type that describes the JSON of a result."""
    marks = getattr(returns, "__metadata__", ())
    return next((mark.kind for mark in marks if isinstance(mark, DescribedAs)), returns)


class Webhook(Struct, frozen=True, kw_only=True):
    """A request that we send: the type of its content, and how that type's schema becomes an OpenAPI operation."""

    name: str
    data: type[Struct]
    describe: Callable[[JsonSchema], JsonSchema]
