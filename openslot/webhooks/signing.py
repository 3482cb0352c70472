"""Standard Webhooks 1.0: secrets, and the headers that prove where a message comes from."""

import base64
import os
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from standardwebhooks import Webhook

PREFIX = "whsec_"
SECRET_BYTES = 32


def new_secret() -> str:
    """Make a signing secret."""
    return PREFIX + base64.b64encode(os.urandom(SECRET_BYTES)).decode()


def sign(message_id: str, body: bytes, *, secrets: Sequence[str], at: datetime) -> str:
    """Sign a message with every secret that is valid, by spaces."""
    return " ".join(Webhook(secret).sign(message_id, at, body.decode()) for secret in secrets)


def signed_headers(event_id: UUID, body: bytes, *, secrets: Sequence[str], at: datetime) -> dict[str, str]:
    """Write the three headers of one try; the id is the event's own, whichever endpoint and try it is."""
    return {
        "webhook-id": str(event_id),
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": sign(str(event_id), body, secrets=secrets, at=at),
    }
