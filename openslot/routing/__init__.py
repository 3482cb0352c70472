"""Declarations: which path a handler answers, what it takes and what it returns."""

from openslot.routing.declarations import (
    Declaration,
    Mount,
    QueryValues,
    RateLimit,
    collect,
    delete,
    find_declaration,
    get,
    patch,
    post,
    put,
)
from openslot.routing.forms import File, Form, WhenEmpty
from openslot.routing.parameters import Query
from openslot.routing.requests import Request
from openslot.routing.responses import Cookie, ErrorBody, Response, Stream, Success

__all__ = [
    "Cookie",
    "Declaration",
    "ErrorBody",
    "File",
    "Form",
    "Mount",
    "Query",
    "QueryValues",
    "RateLimit",
    "Request",
    "Response",
    "Stream",
    "Success",
    "WhenEmpty",
    "collect",
    "delete",
    "find_declaration",
    "get",
    "patch",
    "post",
    "put",
]
