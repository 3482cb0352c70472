"""Handlers: read once from their declarations, found by path and method, and run with the arguments they name."""

import inspect
import re
from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from operator import attrgetter
from typing import Any, get_args, get_origin, get_type_hints
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.access import idempotency
from openslot.domains.access.door import network_of
from openslot.domains.access.models import AgentEntry, AssistantEntry, Entry
from openslot.domains.accounts.models import User
from openslot.doors.http.bodies import decode
from openslot.doors.http.doors import (
    ArgumentSources,
    Body,
    Door,
    Exchange,
    Handler,
    get_agent_entry,
    get_assistant_entry,
    get_user,
)
from openslot.doors.http.errors import status_of
from openslot.doors.http.forms import FORMS, read_form, read_form_strictly
from openslot.doors.http.queries import read_parameters, read_query
from openslot.platform.core.errors import Invalid, NotFound, Refusal, all_refusals
from openslot.platform.core.ids import parse_id
from openslot.platform.core.work import Work
from openslot.platform.routing import (
    READS,
    Declaration,
    Form,
    FormPage,
    HandlerFunction,
    QueryValues,
    Request,
    Response,
    Stream,
    described_type,
)

ArgumentSource = Callable[[Exchange], object]

SOURCES: dict[str, tuple[tuple[object, ArgumentSource], ...]] = {
    "work": ((Work, attrgetter("work")),),
    "user": ((User, get_user), (User | None, attrgetter("user"))),
    "entry": ((Entry, attrgetter("entry")), (AgentEntry, get_agent_entry), (AssistantEntry, get_assistant_entry)),
    # A door's own handlers may also read what the edge knows about a request.
    "request": ((Request, lambda exchange: exchange), (Exchange, lambda exchange: exchange)),
}
RETRIED = frozenset({"POST", "PATCH"})
NAMES = re.compile(r"\{(\w+)(?::path)?\}")


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
        run_in_one = partial(exchange.runtime.run, exchange.entry.actor, partial(_run_in, handler, exchange, values))
        try:
            response = await run_in_one()
        except Refusal as refusal:
            if handler.declaration.settle is None:
                raise
            exchange.settled = await handler.declaration.settle(exchange.runtime, exchange, refusal)
            response = await run_in_one()
        return await _complete(handler, exchange, response)
    # A response is stored together with its change: without a common transaction, either could exist alone.
    if _idempotent_request(handler, exchange) is not None:
        raise Invalid(details={"Idempotency-Key": "is not supported here"})
    exchange.work = exchange.runtime.work(exchange.entry.actor)
    response = await call(handler, exchange, values)
    if response.status < 400:
        exchange.work.check_nothing_is_staged()
    return response


async def _complete(handler: Handler, exchange: Exchange, response: Response) -> Response:
    """Complete a response after the commit; a refusal forgets the response, so that a retry begins anew."""
    if handler.declaration.then is None or response.status >= 400:
        return response
    try:
        return await handler.declaration.then(exchange.runtime, response)
    except Refusal:
        request = _idempotent_request(handler, exchange)
        if request is not None:
            await idempotency.forget_response(exchange.runtime.work(exchange.entry.actor), request)
        raise


async def _run_in(handler: Handler, exchange: Exchange, values: Sequence[str], work: Work) -> Response:
    """Run a handler in a transaction that is rolled back if the response is an error."""
    exchange.work = work
    response = await _run_once(handler, exchange, values)
    work.rolls_back = response.status >= 400
    return response


async def _run_once(handler: Handler, exchange: Exchange, values: Sequence[str]) -> Response:
    request = _idempotent_request(handler, exchange)
    if request is None:
        return await call(handler, exchange, values)
    work = exchange.work
    kept = await idempotency.find_response(work, request)
    if kept is not None:
        headers, hide = {**kept.headers, "idempotent-replayed": "true"}, handler.declaration.hide
        body = hide(kept.body) if hide and idempotency.may_be_another(request, kept) else kept.body
        return Response(status=kept.status, headers=headers, body=body)
    response = await call(handler, exchange, values)
    if response.status < 400 and isinstance(response.body, bytes):
        headers = {name: value for name, value in response.headers.items() if name in {"content-type", "location"}}
        to_keep = idempotency.StoredResponse(status=response.status, headers=headers, body=response.body)
        await idempotency.store_response(work, request, to_keep)
    return response


def takes_idempotency_key(handler: Handler, door: Door) -> bool:
    """Return whether the repeats of a request are recognised: only what one transaction does can be kept with it."""
    is_kept = handler.declaration.method in RETRIED and handler.declaration.transaction == "one"
    return is_kept and (handler.declaration.retried_by or door.retried_by) is not None


def _idempotent_request(handler: Handler, exchange: Exchange) -> idempotency.RetriedRequest | None:
    retried_by = handler.declaration.retried_by or exchange.door.retried_by
    if "idempotency-key" not in exchange.headers or exchange.method not in RETRIED or retried_by is None:
        return None
    caller = retried_by(exchange)
    if caller is None:
        return None
    return idempotency.read_request(
        caller=caller,
        method=exchange.method,
        path=exchange.path,
        key=exchange.headers["idempotency-key"],
        body=exchange.body,
        network=network_of(exchange.address) if handler.declaration.retried_by else "",
    )


async def call(handler: Handler, exchange: Exchange, values: Sequence[str]) -> Response:
    return _write(handler.declaration, exchange, await handler.run(**_gather(handler, exchange, values)))


def check_form(handler: Handler, exchange: Exchange) -> None:
    """Refuse a form with faults before its handler runs, if a page shows it again."""
    if handler.declaration.form_page is None or handler.body is None:
        return
    exchange.form = read_form(exchange, handler.body.kind)
    if exchange.form.faults:
        raise Invalid(details=exchange.form.faults)


async def show_again(handler: Handler, exchange: Exchange, values: Sequence[str], refusal: Refusal) -> Response | None:
    """Show a form with what was typed and what a refusal says about its fields; return None if it says nothing."""
    page = handler.declaration.form_page
    faults = page.place(refusal) if page else {}
    if page is None or not faults:
        return None
    # What the handler did is rolled back; the page shows what is stored.
    exchange.work = exchange.runtime.work(exchange.entry.actor)
    arguments = {name: source(exchange) for name, source in handler.shown_with}
    for (name, read_value), value in zip(handler.path_values, values, strict=True):
        if name in handler.shown_values:
            arguments[name] = read_value(value)
    result = await page.show(**arguments, form=exchange.form.with_faults(faults))
    shown = _write(handler.declaration, exchange, result)
    # The page may also answer that there is no form any more.
    has_form = shown.status in {200, 400}
    return replace(shown, status=status_of(refusal) if page.own_status else 400) if has_form else shown


def _write(declaration: Declaration, exchange: Exchange, result: object) -> Response:
    if not isinstance(result, Response):
        if result is None:
            return Response(status=declaration.status)
        headers = {"content-type": declaration.media_type or exchange.door.answers_in}
        return Response(status=declaration.status, headers=headers, body=exchange.door.write(result, exchange))
    if isinstance(result.body, bytes | Stream):
        return result
    headers = {"content-type": declaration.media_type or exchange.door.answers_in, **result.headers}
    body = exchange.door.write(result.body, exchange)
    return Response(status=result.status, headers=headers, cookies=result.cookies, body=body)


def _gather(handler: Handler, exchange: Exchange, values: Sequence[str]) -> dict[str, object]:
    """Collect the arguments; authentication errors come before invalid input, and invalid input before `NotFound`."""
    arguments = {name: source(exchange) for name, source in handler.given}
    faults: dict[str, str] = {}
    if handler.parameters:
        read, faults = read_query(handler.parameters, exchange.query_string)
        if handler.declaration.check is not None:
            given = QueryValues(values=read, wrong=faults.keys(), now=exchange.work.now)
            faults |= handler.declaration.check(given) | faults
        arguments.update(read)
    if handler.body is not None:
        try:
            _read_body(handler.body, exchange, arguments)
        except Invalid as refusal:
            if not faults:
                raise
            faults |= refusal.details or {}
    if faults:
        raise Invalid(details=faults)
    for (name, read_value), value in zip(handler.path_values, values, strict=True):
        arguments[name] = read_value(value)
    return arguments


def _read_body(wanted: Body, exchange: Exchange, arguments: dict[str, object]) -> None:
    if wanted.argument == "form":
        arguments["form"] = exchange.form if exchange.form.kind else read_form(exchange, wanted.kind)
    elif exchange.body:
        decoded = (
            read_form_strictly(exchange, wanted.kind)
            if exchange.media_type in FORMS
            else decode(exchange.body, wanted.kind)
        )
        arguments["data"] = decoded
    elif wanted.is_required:
        raise Invalid(details={"body": "is required"})


def read_handler(run: Callable[..., Awaitable[object]], declaration: Declaration, template: str) -> Handler:
    """Read a function's signature; raise a `TypeError` if it has an argument that can't be provided."""
    if not inspect.iscoroutinefunction(run):
        raise TypeError(f"{run.__name__} must be async")
    hints = get_type_hints(run, include_extras=True)
    returns = described_type(hints.pop("return", None))
    arguments = inspect.signature(run).parameters
    in_path = NAMES.findall(template)
    parameters = read_parameters(hints, arguments)
    _check_arguments(run, arguments.keys() - {"data", *in_path, *(each.argument for each in parameters)})
    shown_with, shown_values = _read_page(declaration.form_page, in_path)
    given = _find_sources(run.__name__, hints)
    if declaration.is_public and (declaration.method not in READS or ("user", get_user) in given):
        raise TypeError(f"{run.__name__} does not answer everyone alike")
    return Handler(
        run=run,
        declaration=declaration,
        template=template.replace(":path}", "}"),
        path_values=tuple((name, _path_value(run.__name__, name, hints)) for name in in_path),
        parameters=parameters,
        body=None if declaration.method in READS else _body_of(run.__name__, hints, arguments),
        given=given,
        returns=returns,
        shown_with=shown_with,
        shown_values=shown_values,
    )


def _read_page(page: FormPage | None, in_path: list[str]) -> tuple[ArgumentSources, frozenset[str]]:
    if page is None:
        return (), frozenset()
    hints = get_type_hints(page.show, include_extras=True)
    hints.pop("return", None)
    _check_arguments(page.show, hints.keys() - {*in_path})
    return _find_sources(page.show.__name__, hints), frozenset(hints.keys() & in_path)


def _check_arguments(run: HandlerFunction, others: AbstractSet[str]) -> None:
    if unknown := others - {"form", *SOURCES}:
        raise TypeError(f"{run.__name__} asks for {', '.join(sorted(unknown))}, which nobody gives; mark it with Query")


def _find_sources(handler: str, hints: dict[str, Any]) -> ArgumentSources:
    return tuple((name, _find_source(handler, name, kind)) for name, kind in hints.items() if name in SOURCES)


def _path_value(handler: str, name: str, hints: dict[str, Any]) -> Callable[[str], object]:
    if name not in hints:
        raise TypeError(f"{handler} does not take {name}, which its path has")
    if hints[name] is UUID:
        return partial(parse_id, refusal=_refusal_of(name))
    if hints[name] is not str:
        raise TypeError(f"{handler} must take {name} of its path as a str or a UUID")
    return str


def _refusal_of(name: str) -> type[Refusal]:
    """Return how an unknown id of this name is refused: `booking_id` as `booking_not_found`."""
    code = f"{name.removesuffix('_id')}_not_found"
    return next((each for each in all_refusals(NotFound) if each.code == code), NotFound)


def _find_source(handler: str, name: str, kind: object) -> ArgumentSource:
    for known, source in SOURCES[name]:
        if known == kind:
            return source
    raise TypeError(f"{handler} must take {name} as {' or '.join(str(known) for known, _ in SOURCES[name])}")


def _body_of(handler: str, hints: dict[str, Any], arguments: Any) -> Body | None:
    if "form" in hints:
        if get_origin(hints["form"]) is not Form:
            raise TypeError(f"{handler} must take its form as a Form of a Struct")
        return Body(argument="form", kind=get_args(hints["form"])[0], is_required=False)
    if "data" not in hints:
        return None
    is_required = arguments["data"].default is inspect.Parameter.empty
    return Body(argument="data", kind=hints["data"], is_required=is_required)
