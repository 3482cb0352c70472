"""Declarations: which path a handler answers, what it takes and what it returns."""

from openslot.routing.declarations import (
    Declaration,
    Mount,
    Query,
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
from openslot.routing.messages import Cookie, ErrorBody, File, Form, Request, Response, Stream, Success, WhenEmpty

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
