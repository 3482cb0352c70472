"""Exceptions on their way out: every one becomes a refusal in the door's own shape."""

from collections.abc import Collection
from typing import Any

import asyncpg
import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException

from openslot.core.db import DOWN, reason
from openslot.core.errors import Internal, Invalid, MethodNotAllowed, NotFound, Refusal, Unavailable
from openslot.http.doors import Visit, visit_of

AGAIN = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)

log = structlog.get_logger()


def answer_exception(request: Request[Any, Any, Any], exception: Exception) -> Response[bytes]:
    """Answer an exception that a handler or the framework has raised."""
    visit = visit_of(request.scope)
    if isinstance(exception, HTTPException) and exception.status_code < 500:
        exception = _client_fault(request, exception)
    answer = visit.door.refuse(translate(exception), visit)
    headers = dict(answer.headers)
    content_type = headers.pop("content-type", None)
    return Response(answer.body, status_code=answer.status, headers=headers, media_type=content_type)


def translate(exception: Exception) -> Refusal:
    """Find the refusal that says what this exception means to the caller; what is our own fault is logged."""
    if isinstance(exception, Refusal):
        return exception
    if isinstance(exception, (*DOWN, *AGAIN)):
        log.warning("database unavailable", error=reason(exception))
        return Unavailable()
    log.error("request failed", exc_info=exception)
    return Internal()


def wrong_method(visit: Visit, allow: str) -> MethodNotAllowed:
    """Refuse a method, and tell which ones the path takes."""
    return MethodNotAllowed(f"{visit.method} is not allowed here", headers={"Allow": allow})


def allowed(methods: Collection[str]) -> str:
    """List a path's methods as `Allow` does; the edge answers HEAD wherever there is a GET."""
    return ", ".join(sorted({*methods, "HEAD"} if "GET" in methods else methods))


def _client_fault(request: Request[Any, Any, Any], exception: HTTPException) -> Refusal:
    if exception.status_code == 404:
        return NotFound()
    if exception.status_code == 405:
        methods = (exception.headers or {}).get("allow", "OPTIONS").split(", ")
        return wrong_method(visit_of(request.scope), allowed(methods))
    return Invalid()
