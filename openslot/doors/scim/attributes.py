"""The attributes of SCIM users and groups: what is stored, how each may be used, and how the service describes them."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType, field

CORE = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"


class Attribute(Struct, frozen=True, kw_only=True, rename="camel"):
    """One attribute as RFC 7643 describes it, and as the service shows it."""

    name: str
    kind: Literal["string", "boolean", "complex", "reference"] = field(default="string", name="type")
    multi_valued: bool = False
    description: str
    required: bool = False
    case_exact: bool = False
    mutability: Literal["readWrite", "readOnly", "immutable"] = "readWrite"
    returned: Literal["default", "always"] = "default"
    uniqueness: Literal["none", "server"] = "none"
    canonical_values: tuple[str, ...] | UnsetType = UNSET
    reference_types: tuple[str, ...] | UnsetType = UNSET
    parts: tuple["Attribute", ...] | UnsetType = field(default=UNSET, name="subAttributes")
    """The sub-attributes of a complex one."""

    def part(self, name: str) -> "Attribute | None":
        """Find a sub-attribute by its name in any letter case."""
        return next((each for each in self.parts or () if each.name.lower() == name.lower()), None)


def _text(name: str, description: str) -> Attribute:
    return Attribute(name=name, description=description)


def _complex(name: str, description: str, *parts: Attribute) -> Attribute:
    return Attribute(name=name, description=description, kind="complex", parts=parts)


def _values(name: str, description: str, what: str, *types: str, required: bool = False) -> Attribute:
    parts = (
        Attribute(name="value", description=f"The {what}", required=required),
        _text("display", f"How the {what} is shown"),
        Attribute(name="type", description=f"What the {what} is for", canonical_values=types),
        Attribute(name="primary", kind="boolean", description=f"Whether this {what} is preferred"),
    )
    return Attribute(
        name=name, description=description, kind="complex", multi_valued=True, required=required, parts=parts
    )


def _read_only(name: str, description: str, **more: Any) -> Attribute:
    return Attribute(name=name, description=description, mutability="readOnly", **more)


ID = _read_only(
    "id",
    "Assigned by the service; stays the same as long as the user is a member",
    case_exact=True,
    returned="always",
    uniqueness="server",
)
SCHEMAS = _read_only(
    "schemas",
    "The schemas of this user",
    kind="reference",
    multi_valued=True,
    case_exact=True,
    returned="always",
    reference_types=("uri",),
)
META = _read_only(
    "meta",
    "When the user was created and last modified",
    kind="complex",
    parts=(
        _read_only("resourceType", "User", case_exact=True),
        _read_only("created", "When the user became a member", case_exact=True),
        _read_only("lastModified", "When the user was last changed", case_exact=True),
        _read_only("location", "The address of the user", case_exact=True),
        _read_only("version", "The version, as in ETag", case_exact=True),
    ),
)
EXTERNAL_ID = Attribute(name="externalId", description="The identity provider's own id", case_exact=True)
# RFC 7643 defines these for every resource, so no schema lists them.
COMMON = (SCHEMAS, ID, EXTERNAL_ID, META)

USER = (
    Attribute(
        name="userName",
        description="Names the user in the organization, often the email address",
        required=True,
        uniqueness="server",
    ),
    _complex(
        "name",
        "The parts of the name",
        _text("formatted", "The whole name"),
        _text("familyName", "The family name"),
        _text("givenName", "The given name"),
    ),
    _text("displayName", "The name as it is shown"),
    _text("nickName", "How the user is called"),
    _text("title", "The job title"),
    _text("preferredLanguage", "The preferred language"),
    _text("locale", "How dates and numbers are written"),
    _text("timezone", "The time zone, such as Europe/Berlin"),
    Attribute(name="active", kind="boolean", description="Whether the user may sign in and be booked"),
    _values(
        "emails",
        "Email addresses; the primary one, else the one of type work, is the account's",
        "email address",
        *("work", "home", "other"),
        required=True,
    ),
    _values("phoneNumbers", "Phone numbers", "phone number", "work", "home", "mobile", "fax", "pager", "other"),
    _read_only(
        "groups",
        "The groups that the user belongs to, which are changed at the groups",
        kind="complex",
        multi_valued=True,
        parts=(
            _read_only("value", "The id of the group", case_exact=True),
            _read_only("display", "The name of the group"),
            _read_only("type", "How the user belongs to it", canonical_values=("direct",)),
        ),
    ),
)
MEMBERS = Attribute(
    name="members",
    description="The users who belong to the group",
    kind="complex",
    multi_valued=True,
    parts=(
        Attribute(name="value", description="The id of the user", case_exact=True, mutability="immutable"),
        Attribute(
            name="$ref",
            kind="reference",
            description="The address of the user",
            case_exact=True,
            mutability="immutable",
            reference_types=("User",),
        ),
        Attribute(name="type", description="Always User", mutability="immutable", canonical_values=("User",)),
    ),
)
TEAM = (
    Attribute(
        name="displayName",
        description="The name of the group, which is a team of the organization",
        required=True,
        uniqueness="server",
    ),
    MEMBERS,
)
ENTERPRISE_USER = (
    _text("employeeNumber", "The number of the employee"),
    _text("costCenter", "The cost center"),
    _text("organization", "The name of the organization"),
    _text("division", "The division"),
    _text("department", "The department"),
    _complex(
        "manager",
        "The user's manager",
        _text("value", "The id of the manager"),
        Attribute(name="$ref", kind="reference", description="The address of the manager", reference_types=("User",)),
        _text("displayName", "The manager's name"),
    ),
)

_BY_SCHEMA: Mapping[str, Mapping[str, Attribute]] = {
    CORE.lower(): {each.name.lower(): each for each in (*COMMON, *USER)},
    ENTERPRISE.lower(): {each.name.lower(): each for each in ENTERPRISE_USER},
}


def find_attribute(schema: str, name: str) -> Attribute | None:
    """Find an attribute of a schema by its name in any letter case."""
    return _BY_SCHEMA[schema.lower()].get(name.lower())


def split_schema(text: str) -> tuple[str, str] | None:
    """Split a name that begins with one of our schemas into the schema and the rest, which may be empty."""
    low = text.lower()
    for schema in (ENTERPRISE, CORE):
        if low == schema.lower():
            return schema, ""
        if low.startswith(f"{schema.lower()}:"):
            return schema, text[len(schema) + 1 :]
    return None


LIST = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
_CONFIG = "urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"

MAX_RESULTS = 200

Document = dict[str, Any]


def describe_service(base: str) -> Document:
    return {
        "schemas": [_CONFIG],
        "documentationUri": "https://datatracker.ietf.org/doc/html/rfc7644",
        "patch": {"supported": True},
        "bulk": {"supported": False, "maxOperations": 0, "maxPayloadSize": 0},
        "filter": {"supported": True, "maxResults": MAX_RESULTS},
        "changePassword": {"supported": False},
        "sort": {"supported": False},
        "etag": {"supported": True},
        "authenticationSchemes": [
            {
                "type": "oauthbearertoken",
                "name": "SCIM token",
                "description": "A token of the organization, sent as Authorization: Bearer",
                "specUri": "https://datatracker.ietf.org/doc/html/rfc6750",
                "primary": True,
            }
        ],
        "meta": {"resourceType": "ServiceProviderConfig", "location": f"{base}/ServiceProviderConfig"},
    }


def describe_schemas(base: str) -> list[Document]:
    return [
        _schema(base, CORE, "User", "A member of the organization", USER),
        _schema(base, ENTERPRISE, "EnterpriseUser", "What an enterprise keeps of a user", ENTERPRISE_USER),
        _schema(base, GROUP, "Group", "A team of the organization", TEAM),
    ]


def describe_resource_types(base: str) -> list[Document]:
    return [
        {
            "schemas": ["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],
            "id": "User",
            "name": "User",
            "endpoint": "/Users",
            "description": "A member of the organization",
            "schema": CORE,
            "schemaExtensions": [{"schema": ENTERPRISE, "required": False}],
            "meta": {"resourceType": "ResourceType", "location": f"{base}/ResourceTypes/User"},
        },
        {
            "schemas": ["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],
            "id": "Group",
            "name": "Group",
            "endpoint": "/Groups",
            "description": "A team of the organization",
            "schema": GROUP,
            "meta": {"resourceType": "ResourceType", "location": f"{base}/ResourceTypes/Group"},
        },
    ]


def list_all(resources: list[Document]) -> Document:
    return {
        "schemas": [LIST],
        "totalResults": len(resources),
        "startIndex": 1,
        "itemsPerPage": len(resources),
        "Resources": resources,
    }


def _schema(base: str, urn: str, name: str, description: str, attributes: tuple[Attribute, ...]) -> Document:
    return {
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:Schema"],
        "id": urn,
        "name": name,
        "description": description,
        "attributes": attributes,
        "meta": {"resourceType": "Schema", "location": f"{base}/Schemas/{urn}"},
    }
