"""What SCIM refuses, with the `scimType` that RFC 7644 gives each fault."""

from typing import ClassVar

from openslot.platform.core.errors import Conflict, Invalid, Refusal, RefusalKind


class ScimType:
    """What a refusal has that names its SCIM error type."""

    scim_type: ClassVar[str]


class InvalidFilter(ScimType, Invalid):
    code = "scim_invalid_filter"
    scim_type = "invalidFilter"


class InvalidPath(ScimType, Invalid):
    code = "scim_invalid_path"
    scim_type = "invalidPath"


class InvalidSyntax(ScimType, Invalid):
    code = "scim_invalid_syntax"
    scim_type = "invalidSyntax"


class InvalidValue(ScimType, Invalid):
    code = "scim_invalid_value"
    scim_type = "invalidValue"


class NotMutable(ScimType, Invalid):
    code = "scim_mutability"
    scim_type = "mutability"


class NoTarget(ScimType, Invalid):
    """The operation matches nothing that it could change."""

    code = "scim_no_target"
    scim_type = "noTarget"


class NotUnique(ScimType, Conflict):
    code = "scim_uniqueness"
    scim_type = "uniqueness"


class VersionMismatch(Refusal):
    code = "scim_version_mismatch"
    kind = RefusalKind.OUTDATED
    message = "It has changed since this version; read it again"


class NotSupported(Refusal):
    code = "scim_not_supported"
    kind = RefusalKind.UNSUPPORTED
