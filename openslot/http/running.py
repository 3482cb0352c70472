"""Running a handler: in its transaction, and only once for a request that is sent again."""

from collections.abc import Sequence
from functools import partial

from openslot.access import idempotency
from openslot.core.errors import Invalid, Refusal
from openslot.core.work import Work
from openslot.http.doors import Exchange
from openslot.http.handlers import Handler, call, check_form, show_again
from openslot.routing import Response

KEPT_HEADERS = frozenset({"content-type", "location"})
RETRIED = frozenset({"POST", "PATCH"})


async def run(handler: Handler, exchange: Exchange, values: Sequence[str]) -> Response:
    """Run a handler, or show its form again if that has faults or is refused."""
    try:
        check_form(handler, exchange)
        return await _run(handler, exchange, values)
    except Refusal as refusal:
        shown = await show_again(handler, exchange, values, refusal)
        if shown is None:
            raise
        return shown


async def _run(handler: Handler, exchange: Exchange, values: Sequence[str]) -> Response:
    """Run a handler as it declares: in one transaction, or only in those that it opens itself."""
    if handler.declaration.transaction == "one":
        return await exchange.runtime.run(exchange.entry.actor, partial(_run_in, handler, exchange, values))
    # A response is stored together with its change: without a common transaction, either could exist alone.
    if _idempotent_request(handler, exchange) is not None:
        raise Invalid(details={"Idempotency-Key": "is not supported here"})
    exchange.work = exchange.runtime.work(exchange.entry.actor)
    response = await call(handler, exchange, values)
    if response.status < 400:
        exchange.work.check_nothing_is_staged()
    return response


async def _run_in(handler: Handler, exchange: Exchange, values: Sequence[str], work: Work) -> Response:
    """Run a handler in a transaction that is rolled back if the response is an error."""
    exchange.work = work
    response = await _run_once(handler, exchange, values)
    work.is_undone = response.status >= 400
    return response


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
