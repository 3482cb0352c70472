"""What the API's description contains in addition to the handlers' declarations."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

Schema = dict[str, Any]


class Webhook(Struct, frozen=True, kw_only=True):
    """A request that we send: the type of its content, and how that type's schema becomes an OpenAPI operation."""

    name: str
    data: type[Struct]
    describe: Callable[[Schema], Schema]
