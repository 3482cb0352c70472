"""Where effects go."""

from uuid import UUID

from msgspec import Struct


class Destination(Struct, frozen=True):
    """Where an effect goes, and on whose behalf; a worker divides its capacity between destinations."""

    target: str
    owner_id: UUID | None
    is_operators: bool = False
    """Whether it is a server of the operator's own, which is sent as much as it keeps up with."""
