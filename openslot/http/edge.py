"""The edge: what happens to every request before and after its handler."""

import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import asyncpg
import structlog

from openslot.access import idempotency
from openslot.access.addresses import client_address
from openslot.core.actor import PUBLIC
from openslot.core.db import DOWN
from openslot.core.errors import Internal, Refusal, TooLarge, Unavailable, UnsupportedMedia
from openslot.core.ids import new_id
from openslot.core.work import House, Work
from openslot.http import metrics
from openslot.http.doors import Answer, Door, Headers, Scope, Visit

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_BYTES = 256 * 1024
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
AGAIN = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)
ANY_ORIGIN = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", b"Retry-After, X-Request-Id, Idempotent-Replayed"),
)
PREFLIGHT = {
    "access-control-allow-methods": "GET, POST, DELETE",
    "access-control-allow-headers": "Content-Type, Idempotency-Key",
    "access-control-max-age": "86400",
}

log = structlog.get_logger()


class Edge:
    """Wraps the handlers: who, how often, how large, in which transaction, and with which headers back."""

    def __init__(self, app: App, *, doors: tuple[Door, ...], house: Callable[[], House]) -> None:
        self._app = app
        self._doors = sorted(
            ((prefix, door) for door in doors for prefix in door.prefixes), key=lambda pair: -len(pair[0])
        )
        self._house = house

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; whatever breaks, the answer is in the door's own shape."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        visit = self._begin(scope)
        sender = _Sender(send, visit, headless=scope["method"] == "HEAD")
        if sender.headless:
            scope = {**scope, "method": "GET"}
        try:
            await self._serve(visit, scope, receive, sender)
        except Refusal as refusal:
            await sender.answer(visit.door.refuse(refusal, visit))
        except (*DOWN, *AGAIN):
            log.warning("database unavailable", exc_info=True)
            await sender.answer(visit.door.refuse(Unavailable(), visit))
        except Exception:  # noqa: BLE001 - the edge is the one place where nothing may pass
            log.exception("request failed", path=scope["path"])
            await sender.answer(visit.door.refuse(Internal(), visit))
        metrics.observe(visit.door.name, scope, visit.status, time.perf_counter() - began)
        log.debug("request", method=scope["method"], path=scope["path"], status=visit.status)

    def _begin(self, scope: Scope) -> Visit:
        house = self._house()
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        peer = scope["client"][0] if scope["client"] else None
        visit = Visit(
            door=self._door_of(scope["path"]),
            request_id=new_id(),
            headers=headers,
            address=client_address(peer, headers.get("x-forwarded-for"), house.settings.trusted_proxies),
            work=house.reading(PUBLIC),
        )
        scope["openslot"] = visit
        structlog.contextvars.bind_contextvars(request_id=str(visit.request_id))
        return visit

    def _door_of(self, path: str) -> Door:
        return next(door for prefix, door in self._doors if path.startswith(prefix))

    async def _serve(self, visit: Visit, scope: Scope, receive: Receive, sender: "_Sender") -> None:
        if scope["method"] == "OPTIONS" and visit.door.open_to_other_origins:
            await sender.answer(Answer(status=204, headers=PREFLIGHT, body=b""))
            return
        visit.entry = await visit.door.enter(self._house(), visit.headers, visit.address)
        if scope["method"] in SAFE:
            visit.work = self._house().reading(visit.entry.actor)
            await self._app(scope, receive, sender.send)
            return
        visit.body = await _read_body(visit.headers, receive)
        _check_media_type(visit)
        await sender.answer(await self._write(visit, scope))

    async def _write(self, visit: Visit, scope: Scope) -> Answer:
        """Run a handler that may write: commit when its answer is good, roll everything back when it is not."""
        house = self._house()
        async with house.pool.acquire() as connection:
            transaction = connection.transaction()
            await transaction.start()
            try:
                visit.work = Work(house=house, actor=visit.entry.actor, db=connection, now=house.clock())
                answer = await self._answer_once(visit, scope)
            except BaseException:
                await transaction.rollback()
                raise
            await (transaction.commit() if answer.status < 400 else transaction.rollback())
            return answer

    async def _answer_once(self, visit: Visit, scope: Scope) -> Answer:
        request = _idempotent_request(visit, scope)
        if request is None:
            return await self._call(visit, scope)
        work = visit.work
        kept = await idempotency.find_answer(work.db, request, now=work.now)
        if kept is not None:
            return Answer(status=kept.status, headers={**kept.headers, "idempotent-replayed": "true"}, body=kept.body)
        answer = await self._call(visit, scope)
        if answer.status < 400:
            headers = {"content-type": answer.headers.get("content-type", "application/json")}
            to_keep = idempotency.Answer(status=answer.status, headers=headers, body=answer.body)
            await idempotency.keep_answer(work.db, request, to_keep, now=work.now)
        return answer

    async def _call(self, visit: Visit, scope: Scope) -> Answer:
        parts: list[bytes] = []
        start: Message = {}

        async def receive() -> Message:
            return {"type": "http.request", "body": visit.body, "more_body": False}

        async def collect(message: Message) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            else:
                parts.append(message.get("body", b""))

        await self._app(scope, receive, collect)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in start["headers"]}
        return Answer(status=start["status"], headers=headers, body=b"".join(parts))


class _Sender:
    """Sends an answer once, with the headers that every answer has."""

    def __init__(self, send: Send, visit: Visit, *, headless: bool) -> None:
        self._send = send
        self._visit = visit
        self.headless = headless
        self._started = False

    async def send(self, message: Message) -> None:
        visit = self._visit
        if message["type"] == "http.response.start":
            self._started = True
            visit.status = message["status"]
            headers = message["headers"] = list(message["headers"])
            headers.append((b"x-request-id", str(visit.request_id).encode()))
            headers.extend(visit.door.headers)
            headers.extend((name.lower().encode(), value.encode()) for name, value in visit.entry.headers.items())
            if visit.door.open_to_other_origins:
                headers.extend(ANY_ORIGIN)
        elif self.headless:
            message = {**message, "body": b""}
        await self._send(message)

    async def answer(self, answer: Answer) -> None:
        if self._started:
            return
        headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in answer.headers.items()]
        if not any(name == b"content-length" for name, _ in headers):
            headers.append((b"content-length", str(len(answer.body)).encode()))
        await self.send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": answer.body})


async def _read_body(headers: Headers, receive: Receive) -> bytes:
    declared = headers.get("content-length", "0")
    if declared.isdigit() and int(declared) > MOST_BYTES:
        raise TooLarge("The body must not be larger than 256 KiB")
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MOST_BYTES:
            raise TooLarge("The body must not be larger than 256 KiB")
        if not message.get("more_body"):
            return bytes(body)


def _check_media_type(visit: Visit) -> None:
    if not visit.body or not visit.door.media_types:
        return
    given = visit.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in visit.door.media_types:
        raise UnsupportedMedia(f"The body must be {visit.door.media_types[0]}")


def _idempotent_request(visit: Visit, scope: Scope) -> idempotency.Request | None:
    key = visit.headers.get("idempotency-key")
    caller = visit.entry.actor.credential_id
    if key is None or caller is None or not visit.door.keeps_answers or scope["method"] not in {"POST", "PATCH"}:
        return None
    return idempotency.read_request(
        caller=str(caller), method=scope["method"], path=scope["path"], key=key, body=visit.body
    )
