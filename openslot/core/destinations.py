"""Where effects go."""

from uuid import UUID

from msgspec import Struct


class Destination(Struct, frozen=True):
    """Where an effect goes, and on whose behalf; a worker divides its capacity between destinations."""

    target: str
    owner_id: UUID | None
