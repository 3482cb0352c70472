"""A message gateway as an operator may write it: keeps what it sends, signs its notices, and fails when told."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from standardwebhooks import Webhook

from openslot.domains.webhooks.rules import new_secret, signed_headers
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Clock
from tests.support.fake_server import Answer, Fault, Post, Request, fail, listening, post_over_http

WINDOW = timedelta(hours=24)
TOLERANCE = timedelta(minutes=5)
FINAL = frozenset({"delivered", "read", "undelivered", "failed", "canceled"})


class GatewayRefusal(Exception):
    """An answer that is no success."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class FakeGateway:
    """One gateway with one number; time is what the clock says."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.secret = new_secret()
        self.number = "+4930111222"
        self.url = ""
        self.notice_url = ""
        self.messages: dict[str, dict[str, Any]] = {}
        """By the gateway's id."""
        self.files: dict[str, tuple[bytes, str]] = {}
        self.opted_out: set[str] = set()
        self.bad_numbers: set[str] = set()
        self.windows: dict[str, Any] = {}
        """When each recipient on WhatsApp has written last."""
        self.faults: list[Fault] = []
        self.asked: list[Request] = []
        self.post: Post = post_over_http
        self._calls = 0

    async def serve(self, request: Request) -> Answer | None:
        self.asked.append(request)
        if self.faults:
            return await fail(self.faults.pop(0), lambda: self._answer(request))
        return self._answer(request)

    async def tell(self, type_: str, data: dict[str, Any]) -> int:
        """Send a signed notice, and return the answer's status."""
        body = json.dumps({"type": type_, "data": data}).encode()
        headers = signed_headers(new_id(), body, secrets=(self.secret,), at=self.clock())
        return await self.post(self.notice_url, {"Content-Type": "application/json", **headers}, body)

    async def call(self, caller: str, *statuses: str, **fields: Any) -> list[int]:
        """Let somebody call: one notice for each status, the last one with the other fields."""
        self._calls += 1
        told = {"id": f"call-{self._calls}", "from": caller, "to": self.number, "direction": "inbound"}
        answers = []
        for number, status in enumerate(statuses):
            more = fields if number == len(statuses) - 1 else {}
            at = self.clock().isoformat()
            answers.append(
                await self.tell("call.updated", {**told, "status": status, "sequence": number, "at": at, **more})
            )
        return answers

    def _answer(self, request: Request) -> Answer:
        try:
            asked = self._verify(request)
            return self._carry_out(asked["type"], asked["data"])
        except GatewayRefusal as refusal:
            return _write({"error": {"reason": refusal.reason, "code": f"g-{refusal.reason}"}}, status=refusal.status)

    def _verify(self, request: Request) -> Any:
        """Verify with the library's own signature; the time is compared with the fake's clock."""
        at = datetime.fromtimestamp(int(request.headers["webhook-timestamp"]), UTC)
        signature = Webhook(self.secret).sign(request.headers["webhook-id"], at, request.body)
        if abs(at - self.clock()) > TOLERANCE or signature not in request.headers["webhook-signature"].split():
            raise GatewayRefusal(401, "other")
        return json.loads(request.body)

    def _carry_out(self, type_: str, data: dict[str, Any]) -> Answer:
        if type_ == "account.check":
            is_ours = data["number"] == self.number
            return _write({"name": "My modem", "number": "ready" if is_ours else "missing"})
        if type_ == "message.send":
            return _write(_show(self._find(data["messageId"]) or self._send(data)))
        if type_ == "message.find":
            found = self._find(data["messageId"])
            return _write({"message": _show(found) if found else None})
        if type_ in {"media.get", "media.delete"}:
            return self._answer_media(type_, data["ref"])
        return self._answer_message(type_, data["id"])

    def _find(self, message_id: str) -> dict[str, Any] | None:
        return next((each for each in self.messages.values() if each["messageId"] == message_id), None)

    def _send(self, data: dict[str, Any]) -> dict[str, Any]:
        if data["to"] in self.bad_numbers:
            raise GatewayRefusal(400, "invalid_number")
        if data["to"] in self.opted_out:
            raise GatewayRefusal(400, "opted_out")
        if data["from"] != self.number:
            raise GatewayRefusal(400, "not_allowed")
        written = self.windows.get(data["to"])
        if data["channel"] == "whatsapp" and "template" not in data and not self._is_open(written):
            raise GatewayRefusal(400, "outside_window")
        message = {**data, "id": f"g-{len(self.messages) + 1}", "status": "queued"}
        self.messages[message["id"]] = message
        return message

    def _is_open(self, written: Any) -> bool:
        return written is not None and self.clock() - written <= WINDOW

    def _answer_message(self, type_: str, id_: str) -> Answer:
        if id_ not in self.messages:
            raise GatewayRefusal(404, "not_found")
        if type_ == "message.get":
            return _write(_show(self.messages[id_]))
        if self.messages[id_]["status"] not in FINAL:
            raise GatewayRefusal(409, "other")
        del self.messages[id_]
        self.files = {ref: file for ref, file in self.files.items() if not ref.startswith(f"{id_}/")}
        return _write({})

    def _answer_media(self, type_: str, ref: str) -> Answer:
        if ref not in self.files:
            raise GatewayRefusal(404, "not_found")
        content, content_type = self.files[ref]
        if type_ == "media.get":
            return Answer(200, content, {"Content-Type": content_type})
        del self.files[ref]
        return _write({})


@asynccontextmanager
async def serving(clock: Clock) -> AsyncIterator[FakeGateway]:
    """Run a gateway on a free port of loopback."""
    fake = FakeGateway(clock)
    async with listening(fake.serve) as fake.url:
        yield fake


def _show(message: dict[str, Any]) -> dict[str, Any]:
    return {name: message[name] for name in ("id", "status", "code", "reason") if name in message}


def _write(told: Any, *, status: int = 200) -> Answer:
    return Answer(status, json.dumps(told).encode(), {"Content-Type": "application/json"})
