"""Notices of calls as Twilio and a voice agent's provider send them."""

import json
from datetime import datetime, timedelta
from typing import Any

import httpx2
from standardwebhooks import Webhook

from openslot.domains.messaging.connections.models import MessagingConnection
from openslot.platform.core.work import Runtime
from tests.support.messaging import ACCOUNT, NUMBER, PHONE, sid

WHSEC = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def write_time(at: datetime) -> str:
    return at.strftime("%a, %d %b %Y %H:%M:%S +0000")


def call_form(runtime: Runtime, status: str, sequence: int = 0, *, number: int = 1, **more: str) -> dict[str, str]:
    return {
        "CallSid": sid(number, "CA"),
        "AccountSid": ACCOUNT,
        "From": PHONE,
        "To": NUMBER,
        "CallStatus": status,
        "Direction": "inbound",
        "Timestamp": write_time(runtime.clock()),
        "SequenceNumber": str(sequence),
        "CallbackSource": "call-progress-events",
        **more,
    }


def recording_form(number: int = 1, *, status: str = "completed", recording: int = 1) -> dict[str, str]:
    return {
        "CallSid": sid(number, "CA"),
        "AccountSid": ACCOUNT,
        "RecordingSid": sid(recording, "RE"),
        "RecordingUrl": f"https://api.twilio.com/2010-04-01/Accounts/{ACCOUNT}/Recordings/{sid(recording, 'RE')}",
        "RecordingStatus": status,
        "RecordingDuration": "42",
    }


def write_call(**changed: Any) -> str:
    told = {"id": "call-1", "from": PHONE, "to": NUMBER, "direction": "inbound", "status": "completed"}
    return json.dumps({"type": "call.updated", "data": {**told, "durationSeconds": 42, **changed}})


async def tell(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    connection: MessagingConnection,
    body: str,
    *,
    secret: str = WHSEC,
    ago: timedelta = timedelta(),
    path: str = "calls",
) -> httpx2.Response:
    """Post a notice that the library of Standard Webhooks has signed."""
    at = runtime.clock() - ago
    headers = {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign("msg_1", at, body),
        "content-type": "application/json",
    }
    return await client.post(f"/api/notices/{path}/{connection.id}", content=body, headers=headers)


async def read_calls(runtime: Runtime) -> list[dict[str, Any]]:
    """Read every call, with what was sealed."""
    rows = [dict(row) for row in await runtime.pool.fetch("select * from calls order by started_at, id")]
    for row in rows:
        for name in ("recording", "transcript"):
            row[name] = row[name] and runtime.secrets.open(row[name])
    return rows
