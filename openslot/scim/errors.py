"""What SCIM refuses, with the `scimType` that RFC 7644 gives each fault."""

from typing import ClassVar

from openslot.core.errors import NotFound, Refusal


class ScimRefusal(Refusal):
    """A refusal that names its SCIM error type."""

    scim_type: ClassVar[str | None] = None


class InvalidFilter(ScimRefusal):
    """The filter can't be read, or uses what is not supported."""

    code = "scim_invalid_filter"
    status = 400
    scim_type = "invalidFilter"


class InvalidPath(ScimRefusal):
    """The path of a PATCH operation can't be read."""

    code = "scim_invalid_path"
    status = 400
    scim_type = "invalidPath"


class InvalidSyntax(ScimRefusal):
    """The body does not have the shape of its message."""

    code = "scim_invalid_syntax"
    status = 400
    scim_type = "invalidSyntax"


class InvalidValue(ScimRefusal):
    """A value is missing or wrong for its attribute."""

    code = "scim_invalid_value"
    status = 400
    scim_type = "invalidValue"


class NotMutable(ScimRefusal):
    """The attribute is read-only or required."""

    code = "scim_mutability"
    status = 400
    scim_type = "mutability"


class NoTarget(ScimRefusal):
    """The operation names nothing that it could change."""

    code = "scim_no_target"
    status = 400
    scim_type = "noTarget"


class NotUnique(ScimRefusal):
    """Another user of the organization has this value."""

    code = "scim_uniqueness"
    status = 409
    scim_type = "uniqueness"


class VersionMismatch(ScimRefusal):
    """The user has changed since the version that `If-Match` names."""

    code = "scim_version_mismatch"
    status = 412

    def __init__(self) -> None:
        super().__init__("The user has changed since this version; read it again")


class NotSupported(ScimRefusal):
    """An optional part of SCIM that is not offered here."""

    code = "scim_not_supported"
    status = 501


class HeldDepartureNotFound(NotFound):
    """Nobody's departure waits under this address."""

    code = "held_departure_not_found"

    def __init__(self) -> None:
        super().__init__("No departure of this user waits for a decision")
