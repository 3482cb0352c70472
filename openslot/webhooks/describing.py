"""The part of the API's description that tells what webhooks send."""

from functools import partial
from typing import Any

from openslot.routing.declarations import Webhook
from openslot.webhooks.schemas import PUBLISHED, Published

HEADERS = {
    "webhook-id": "The event's id, the same for every attempt and every endpoint",
    "webhook-timestamp": "When this attempt was made, in seconds since 1970",
    "webhook-signature": "`v1,` and the base64 of the HMAC-SHA256 of id, timestamp and body, joined by dots; two, "
    "separated by a space, while the secret is being rotated",
}
EXAMPLES = {
    "webhook-id": "01997c2e-6a52-7c1e-9d0a-3f4b5c6d7eb1",
    "webhook-timestamp": "1773651600",
    "webhook-signature": "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
}
ANSWERS = {
    "2XX": {"description": "Accepted"},
    "410": {"description": "Gone: the endpoint is deactivated"},
    "default": {
        "description": "Failed, including redirects: retried, 10 attempts in total over 75 hours and 35 minutes"
    },
}


def _describe(published: Published, data: dict[str, Any]) -> dict[str, Any]:
    kind = published.event.type
    body = {
        "type": "object",
        "required": ["id", "type", "createdAt", "data"],
        "properties": {
            "id": {"type": "string", "examples": [EXAMPLES["webhook-id"]]},
            "type": {"type": "string", "const": kind},
            "createdAt": {"type": "string", "description": "ISO 8601, UTC", "examples": ["2026-03-16T09:00:00Z"]},
            "data": data,
        },
    }
    headers = [
        {"name": name, "in": "header", "required": True, "description": words, "schema": _text(EXAMPLES[name])}
        for name, words in HEADERS.items()
    ]
    return {
        "tags": ["Events"],
        "summary": kind,
        "operationId": f"on{''.join(part.title() for part in kind.split('.'))}",
        "description": (published.event.__doc__ or "").strip(),
        "parameters": headers,
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": ANSWERS,
    }


def _text(example: str) -> dict[str, Any]:
    return {"type": "string", "examples": [example]}


WEBHOOKS = tuple(Webhook(name=one.event.type, data=one.data, describe=partial(_describe, one)) for one in PUBLISHED)
