"""Exceptions on their way out: every one becomes a refusal in the door's own shape."""

from typing import Any

import msgspec
import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler
from litestar.params import HeaderParameter, QueryParameter

from openslot.core.db import DOWN
from openslot.core.errors import (
    Internal,
    Invalid,
    MethodNotAllowed,
    NotFound,
    Refusal,
    Unavailable,
    UnsupportedMedia,
)
from openslot.http.bodies import in_words
from openslot.http.doors import visit_of

log = structlog.get_logger()


def answer_exception(request: Request[Any, Any, Any], exception: Exception) -> Response[bytes]:
    """Answer an exception that a handler or the framework has raised."""
    visit = visit_of(request.scope)
    answer = visit.door.refuse(translate(request, exception), visit)
    content_type = answer.headers.pop("content-type", None)
    return Response(answer.body, status_code=answer.status, headers=answer.headers, media_type=content_type)


def translate(request: Request[Any, Any, Any], exception: Exception) -> Refusal:
    """Find the refusal that says what this exception means to the caller."""
    if isinstance(exception, Refusal):
        return exception
    if isinstance(exception, DOWN):
        log.warning("database unavailable", exc_info=exception)
        return Unavailable()
    if isinstance(exception, HTTPException) and exception.status_code < 500:
        return _client_fault(request, exception)
    log.error("handler failed", exc_info=exception, path=request.scope["path"])
    return Internal()


def _client_fault(request: Request[Any, Any, Any], exception: HTTPException) -> Refusal:
    match exception.status_code:
        case 404:
            return NotFound()
        case 405:
            return MethodNotAllowed(f"{request.method} is not allowed here")
        case 415:
            return UnsupportedMedia("This media type is not supported here")
    handler = request.scope.get("route_handler")
    details = parameter_faults(request, handler) if isinstance(handler, HTTPRouteHandler) else {}
    return Invalid(details=details or None)


def parameter_faults(request: Request[Any, Any, Any], handler: HTTPRouteHandler) -> dict[str, str]:
    """Convert every parameter on its own and name each that is wrong or missing."""
    faults: dict[str, str] = {}
    sources = {"query": request.query_params, "header": request.headers}
    for name, field in handler.parsed_fn_signature.parameters.items():
        source, alias = _source(field.kwarg_definition, name)
        if name in handler.resolve_dependencies() or name in {"data", "request"} or alias in request.path_params:
            continue
        if alias not in sources[source]:
            if field.is_required:
                faults[alias] = "is required"
            continue
        annotation = handler.signature_model.__annotations__[name]
        try:
            msgspec.convert(sources[source][alias], annotation, strict=False)
        except msgspec.ValidationError as fault:
            faults[alias] = in_words(str(fault).partition(" - at")[0])
    if "data" in handler.parsed_fn_signature.parameters and not visit_of(request.scope).body:
        faults["body"] = "is required"
    return faults


def _source(definition: object, name: str) -> tuple[str, str]:
    if isinstance(definition, HeaderParameter):
        return "header", definition.name or name
    if isinstance(definition, QueryParameter):
        return "query", definition.name or name
    return "query", name
