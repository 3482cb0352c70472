"""What the service reports about itself: its configuration, its schemas and its resource types."""

from typing import Any

from openslot.scim.attributes import CORE, ENTERPRISE, ENTERPRISE_USER, USER, Attribute

LIST = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:Schema"
_RESOURCE_TYPE = "urn:ietf:params:scim:schemas:core:2.0:ResourceType"
_CONFIG = "urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"

MOST_RESULTS = 200

Document = dict[str, Any]


def describe_service(base: str) -> Document:
    """Return which parts of SCIM are supported."""
    return {
        "schemas": [_CONFIG],
        "documentationUri": "https://datatracker.ietf.org/doc/html/rfc7644",
        "patch": {"supported": True},
        "bulk": {"supported": False, "maxOperations": 0, "maxPayloadSize": 0},
        "filter": {"supported": True, "maxResults": MOST_RESULTS},
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
    """Describe both schemas of a user."""
    return [
        _schema(base, CORE, "User", "A member of the organization", USER),
        _schema(base, ENTERPRISE, "EnterpriseUser", "What an enterprise keeps of a user", ENTERPRISE_USER),
    ]


def describe_resource_types(base: str) -> list[Document]:
    """Describe the one resource type that there is."""
    return [
        {
            "schemas": [_RESOURCE_TYPE],
            "id": "User",
            "name": "User",
            "endpoint": "/Users",
            "description": "A member of the organization",
            "schema": CORE,
            "schemaExtensions": [{"schema": ENTERPRISE, "required": False}],
            "meta": {"resourceType": "ResourceType", "location": f"{base}/ResourceTypes/User"},
        }
    ]


def list_all(resources: list[Document]) -> Document:
    """Write a list that is one page."""
    return {
        "schemas": [LIST],
        "totalResults": len(resources),
        "startIndex": 1,
        "itemsPerPage": len(resources),
        "Resources": resources,
    }


def _schema(base: str, urn: str, name: str, description: str, attributes: tuple[Attribute, ...]) -> Document:
    return {
        "schemas": [_SCHEMA],
        "id": urn,
        "name": name,
        "description": description,
        "attributes": [_attribute(each) for each in attributes],
        "meta": {"resourceType": "Schema", "location": f"{base}/Schemas/{urn}"},
    }


def _attribute(attribute: Attribute) -> Document:
    described: Document = {
        "name": attribute.name,
        "type": attribute.kind,
        "multiValued": attribute.multi_valued,
        "description": attribute.description,
        "required": attribute.required,
        "caseExact": attribute.case_exact,
        "mutability": attribute.mutability,
        "returned": attribute.returned,
        "uniqueness": attribute.uniqueness,
    }
    if attribute.canonical_values:
        described["canonicalValues"] = list(attribute.canonical_values)
    if attribute.reference_types:
        described["referenceTypes"] = list(attribute.reference_types)
    if attribute.parts:
        described["subAttributes"] = [_attribute(part) for part in attribute.parts]
    return described
