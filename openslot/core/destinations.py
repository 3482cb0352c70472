"""Where effects go."""

from uuid import UUID

from msgspec import Struct


class Destination(Struct, frozen=True):
    """Where an effect goes, and on whose behalf: a worker shares its places between destinations."""

    target: str
    owner_id: UUID | None
