"""The edge: what happens to every request before and after its handler."""

import time
from collections.abc import Awaitable, Callable

import structlog
from litestar.utils import normalize_path

from openslot.access import idempotency
from openslot.core.ids import new_id_text
from openslot.core.work import House, Work
from openslot.http import metrics
from openslot.http.doors import Answer, Door, Scope, Visit
from openslot.http.faults import translate
from openslot.http.receiving import (
    ClientGone,
    Message,
    Receive,
    address_of,
    check_host,
    check_media_type,
    check_target,
    read_body,
)
from openslot.http.routing import Routes, answer_at
from openslot.http.sending import Send, Sender

App = Callable[[Scope, Receive, Send], Awaitable[None]]

SAFE = frozenset({"GET", "HEAD"})
KEPT_HEADERS = frozenset({"content-type", "location"})
PREFLIGHT = {
    "access-control-allow-methods": "GET, POST, DELETE",
    "access-control-allow-headers": "Content-Type, Idempotency-Key",
    "access-control-max-age": "86400",
}

log = structlog.get_logger()


class Edge:
    """Wraps the handlers: who, how often, how large, in which transaction, and with which headers back."""

    def __init__(self, app: App, *, routes: Routes, doors: tuple[Door, ...], house: Callable[[], House]) -> None:
        self._app = app
        self._routes = routes
        self._doors = [(f"{prefix.rstrip('/')}/", door) for door in doors for prefix in door.prefixes]
        self._doors.sort(key=lambda pair: -len(pair[0]))
        self._house = house

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; whatever breaks, the answer is in the door's own shape."""
        if scope["type"] == "http":
            await self._answer(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008, "reason": "No WebSockets here"})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        visit = self._begin(scope)
        sender = Sender(send, visit)
        if visit.method == "HEAD":
            scope = {**scope, "method": "GET"}
        try:
            await self._serve(visit, scope, receive, sender)
        except ClientGone:
            visit.status = 499
        except Exception as exception:  # noqa: BLE001 - the edge is the one place where nothing may pass
            await sender.answer(visit.door.refuse(translate(exception), visit))
        # The path itself may hold a secret, such as a link's token: the route is enough.
        route = scope.get("path_template")
        metrics.observe(visit.door.name, route, visit.method, visit.status, seconds=time.perf_counter() - began)
        log.debug("request", method=visit.method, route=route, status=visit.status)

    def _begin(self, scope: Scope) -> Visit:
        house = self._house()
        path = scope["path"]
        if path[:1] != "/" or path[-1] == "/" or "//" in path:
            # The router reads paths so: here first, and the door can't be another one than the handler's.
            path = scope["path"] = normalize_path(path)
        visit = Visit(
            house=house,
            door=self._door_of(path),
            request_id=new_id_text(),
            method=scope["method"],
            headers={name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]},
            address=address_of(scope, house.settings.trusted_proxies),
        )
        scope["openslot"] = visit
        structlog.contextvars.bind_contextvars(request_id=visit.request_id)
        return visit

    def _door_of(self, path: str) -> Door:
        whole = f"{path}/"
        for prefix, door in self._doors:
            if whole.startswith(prefix):
                return door
        raise LookupError("a path without a door")

    async def _serve(self, visit: Visit, scope: Scope, receive: Receive, sender: Sender) -> None:
        if visit.method == "OPTIONS":
            await sender.answer(await self._options(visit, scope))
            return
        house, door = visit.house, visit.door
        visit.entry = await door.enter(house, visit.headers, visit.address)
        if door.count is not None:
            await door.count(visit, scope["path"])
        check_target(scope)
        if visit.method in SAFE:
            visit.work = house.reading(visit.entry.actor)
            await self._read(visit, scope, receive, sender)
            return
        visit.body = await read_body(visit, receive)
        check_media_type(visit)
        await sender.answer(await self._write(visit, scope))

    async def _read(self, visit: Visit, scope: Scope, receive: Receive, sender: Sender) -> None:
        found = self._routes.find(scope["path"])
        if found is None:
            await self._app(scope, receive, sender.send)
        else:
            await sender.answer(await answer_at(found, visit, scope))

    async def _options(self, visit: Visit, scope: Scope) -> Answer:
        """Tell the methods of a path without asking who wants to know: a browser asks before it sends credentials."""
        if visit.door.open_to_other_origins:
            return Answer(status=204, headers=PREFLIGHT, body=b"")
        found = self._routes.find(scope["path"])
        if found is not None:
            check_host(visit.headers)
            return Answer(status=204, headers={"allow": found[0].allowed}, body=b"")
        # A method that nobody has: only the router's refusal names all of a path's own.
        answer = await self._collect(visit, {**scope, "method": "-"})
        if answer.status != 405:
            return answer
        return Answer(status=204, headers={"allow": dict(answer.pairs())["allow"]}, body=b"")

    async def _write(self, visit: Visit, scope: Scope) -> Answer:
        """Run a handler that may write: commit when its answer is good, roll everything back when it is not."""
        house = visit.house
        async with house.pool.acquire() as connection:
            transaction = connection.transaction()
            await transaction.start()
            try:
                visit.work = Work(house=house, actor=visit.entry.actor, db=connection, now=house.clock())
                answer = await self._answer_once(visit, scope)
                if answer.status < 400:
                    visit.work.check_nothing_is_staged()
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
            headers = {name: value for name, value in answer.pairs() if name in KEPT_HEADERS}
            to_keep = idempotency.Answer(status=answer.status, headers=headers, body=answer.body)
            await idempotency.keep_answer(work.db, request, to_keep, now=work.now)
        return answer

    async def _call(self, visit: Visit, scope: Scope) -> Answer:
        found = self._routes.find(scope["path"])
        return await (self._collect(visit, scope) if found is None else answer_at(found, visit, scope))

    async def _collect(self, visit: Visit, scope: Scope) -> Answer:
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
        headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in start["headers"])
        return Answer(status=start["status"], headers=headers, body=b"".join(parts))


def _idempotent_request(visit: Visit, scope: Scope) -> idempotency.Request | None:
    key = visit.headers.get("idempotency-key")
    if key is None or visit.method not in {"POST", "PATCH"}:
        return None
    caller = visit.door.retried_by(visit)
    if caller is None:
        return None
    return idempotency.read_request(caller=caller, method=visit.method, path=scope["path"], key=key, body=visit.body)
