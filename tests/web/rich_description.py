"""An OpenAPI description with everything that later operations may bring."""

from typing import Any

ID = {"type": "string", "format": "uuid"}
AT = {"type": "string", "format": "date-time"}


def ref(name: str) -> dict[str, str]:
    """Refer to a schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def content(schema: object) -> dict[str, Any]:
    """Wrap a schema as a JSON body."""
    return {"content": {"application/json": {"schema": schema}}}


SCHEMAS: dict[str, Any] = {
    "Booking": {
        "title": "Booking",
        "type": "object",
        "required": ["id", "status"],
        "properties": {
            "id": ID,
            "status": ref("Status"),
            "startTime": {**AT, "description": "When it begins, as `Z`"},
            "notes": {"oneOf": [{"type": "string", "maxLength": 5000}, {"type": "null"}]},
            "contact": {"anyOf": [ref("Contact"), {"type": "null"}], "description": "Who booked"},
            "answers": {"type": "object", "additionalProperties": {"type": "string"}},
            "previous": ref("Booking"),
        },
    },
    "Status": {"type": "string", "enum": ["CONFIRMED", "CANCELLED"]},
    "Contact": {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "minLength": 1, "maxLength": 200},
            "tags": {"type": "array", "maxItems": 20, "items": {"type": "string"}},
        },
    },
    "Move": {"title": "Move", "type": "object", "properties": {"kind": {"const": "move"}, "to": AT}},
    "Stop": {"title": "Stop", "type": "object", "properties": {"kind": {"const": "stop"}}, "required": ["kind"]},
    "Wanted": {
        "type": "object",
        "required": ["eventType"],
        "properties": {
            "eventType": {"type": "string", "examples": ["it's-a-call"]},
            "invitee": {"allOf": [ref("Contact"), {"properties": {"email": {"type": "string", "format": "email"}}}]},
            "page": {"type": "integer", "minimum": 1, "maximum": 1000000, "default": 1},
            "anything": True,
        },
    },
}

DESCRIPTION: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Rich API", "version": "1", "description": "The lead.\n\nThe rest."},
    "servers": [{"url": "https://slots.example/"}],
    "tags": [{"name": "Bookings", "description": "What was booked."}, {"name": "Empty"}],
    "paths": {
        "/api/v1/bookings": {
            "get": {
                "tags": ["Bookings"],
                "summary": "List bookings",
                "operationId": "listBookings",
                "security": [{"apiKey": []}],
                "parameters": [
                    {"name": "status", "in": "query", "schema": ref("Status")},
                    {"name": "searchFor", "in": "query", "required": True, "schema": {"type": ["string", "null"]}},
                ],
                "responses": {
                    "200": {
                        "description": "Request fulfilled, document follows",
                        **content({"type": "array", "items": ref("Booking")}),
                    },
                    "401": {"description": "The `key` is wrong"},
                },
            },
            "post": {
                "tags": ["Bookings"],
                "summary": "Book",
                "operationId": "book",
                "security": [{"apiKey": []}],
                "requestBody": content(ref("Wanted")),
                "responses": {"200": {"description": "The booking", **content(ref("Booking"))}},
            },
        },
        "/api/v1/bookings/{bookingId}": {
            "parameters": [{"name": "bookingId", "in": "path", "required": True, "schema": ID}],
            "patch": {
                "tags": ["Bookings"],
                "summary": "Change",
                "requestBody": content({"oneOf": [ref("Move"), ref("Stop")]}),
                "responses": {"200": {"description": "Changed", **content(True)}},
            },
            "delete": {"deprecated": True, "responses": {"204": {"description": "Gone"}}},
        },
    },
    "components": {"schemas": SCHEMAS},
}
