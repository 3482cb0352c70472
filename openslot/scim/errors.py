"""What SCIM refuses, with the `scimType` that RFC 7644 gives each fault."""

from typing import ClassVar

from openslot.core.errors import Conflict, Invalid, Refusal, RefusalKind


class ScimType:
    """What a refusal has that names its SCIM error type."""

    scim_type: ClassVar[str]


class InvalidFilter(ScimType, Invalid):
    """The filter can't be parsed, or uses something that is not supported."""

    code = "scim_invalid_filter"
    scim_type = "invalidFilter"


class InvalidPath(ScimType, Invalid):
    """The path of a PATCH operation can't be parsed."""

    code = "scim_invalid_path"
    scim_type = "invalidPath"


class InvalidSyntax(ScimType, Invalid):
    """The body does not have the shape of its message."""

    code = "scim_invalid_syntax"
    scim_type = "invalidSyntax"


class InvalidValue(ScimType, Invalid):
    """A value is missing or wrong for its attribute."""

    code = "scim_invalid_value"
    scim_type = "invalidValue"


class NotMutable(ScimType, Invalid):
    """The attribute is read-only or required."""

    code = "scim_mutability"
    scim_type = "mutability"


class NoTarget(ScimType, Invalid):
    """The operation matches nothing that it could change."""

    code = "scim_no_target"
    scim_type = "noTarget"


class NotUnique(ScimType, Conflict):
    """Another user of the organization has this value."""

    code = "scim_uniqueness"
    scim_type = "uniqueness"


class VersionMismatch(Refusal):
    """The user has changed since the version that `If-Match` names."""

    code = "scim_version_mismatch"
    kind = RefusalKind.OUTDATED
    message = "The user has changed since this version; read it again"


class NotSupported(Refusal):
    """This optional part of SCIM is not supported."""

    code = "scim_not_supported"
    kind = RefusalKind.UNSUPPORTED
