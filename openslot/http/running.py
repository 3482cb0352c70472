"""Running a handler: in its transaction, and only once for a request that is sent again."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from openslot.access import idempotency
from openslot.core.actor import Actor
from openslot.core.db import transaction
from openslot.core.disk import REFUSED
from openslot.core.errors import Invalid
from openslot.core.work import Runtime, Work
from openslot.http.doors import Exchange
from openslot.http.handlers import Handler, call
from openslot.routing import Response

KEPT_HEADERS = frozenset({"content-type", "location"})
RETRIED = frozenset({"POST", "PATCH"})

Result = TypeVar("Result")


class _RolledBack(Exception):
    """Ends a transaction whose answer is an error."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


async def run(handler: Handler, exchange: Exchange, values: Sequence[str]) -> Response:
    """Run a handler as it declares: in one transaction, or only in those that it opens itself."""
    if handler.declaration.transaction == "one":
        return await exchange.runtime.turns.run(partial(_run_and_commit, handler, exchange, values))
    # A response is stored together with its change: without a common transaction, either could exist alone.
    if _idempotent_request(handler, exchange) is not None:
        raise Invalid(details={"Idempotency-Key": "is not supported here"})
    exchange.work = exchange.runtime.work(exchange.entry.actor)
    response = await call(handler, exchange, values)
    if response.status < 400:
        exchange.work.check_nothing_is_staged()
    return response


async def run_in_turn(runtime: Runtime, actor: Actor, act: Callable[[Work], Awaitable[Result]]) -> Result:
    """Run a verb in a transaction of its own, for a handler that has none; to wait for a turn takes no connection."""
    return await runtime.turns.run(partial(_act_and_commit, runtime, actor, act))


async def _act_and_commit(
    runtime: Runtime, actor: Actor, act: Callable[[Work], Awaitable[Result]], *, waits: bool
) -> Result:
    async with transaction(runtime.pool, waits=waits) as db:
        work = Work(runtime=runtime, actor=actor, db=db, now=runtime.clock())
        result = await act(work)
        work.check_nothing_is_staged()
    REFUSED.forget()
    return result


async def _run_and_commit(handler: Handler, exchange: Exchange, values: Sequence[str], *, waits: bool) -> Response:
    """Commit if the response is a success, and roll everything back if it is not."""
    runtime = exchange.runtime
    try:
        async with transaction(runtime.pool, waits=waits) as db:
            exchange.work = Work(runtime=runtime, actor=exchange.entry.actor, db=db, now=runtime.clock())
            response = await _run_once(handler, exchange, values)
            _check_good(response)
            exchange.work.check_nothing_is_staged()
    except _RolledBack as undone:
        return undone.response
    REFUSED.forget()
    return response


def _check_good(response: Response) -> None:
    if response.status >= 400:
        raise _RolledBack(response)


async def _run_once(handler: Handler, exchange: Exchange, values: Sequence[str]) -> Response:
    request = _idempotent_request(handler, exchange)
    if request is None:
        return await call(handler, exchange, values)
    work = exchange.work
    kept = await idempotency.find_response(work, request)
    if kept is not None:
        return Response(status=kept.status, headers={**kept.headers, "idempotent-replayed": "true"}, body=kept.body)
    response = await call(handler, exchange, values)
    if response.status < 400 and isinstance(response.body, bytes):
        headers = {name: value for name, value in response.headers.items() if name in KEPT_HEADERS}
        to_keep = idempotency.StoredResponse(status=response.status, headers=headers, body=response.body)
        await idempotency.store_response(work, request, to_keep)
    return response


def _idempotent_request(handler: Handler, exchange: Exchange) -> idempotency.RetriedRequest | None:
    if "idempotency-key" not in exchange.headers or exchange.method not in RETRIED:
        return None
    caller = (handler.declaration.retried_by or exchange.door.retried_by)(exchange)
    if caller is None:
        return None
    return idempotency.read_request(
        caller=caller,
        method=exchange.method,
        path=exchange.path,
        key=exchange.headers["idempotency-key"],
        body=exchange.body,
    )
