"""Refusals say what kind they are; only the HTTP layer knows statuses and headers."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import openslot.app
from openslot.domains.access.errors import InvalidCredentials, LimitReached
from openslot.domains.availability.errors import HoldLimitExceeded
from openslot.doors.http.errors import STATUSES, HttpRefusal, MethodNotAllowed, headers_of
from openslot.doors.mcp.errors import RpcRefusal
from openslot.platform.core.errors import (
    Internal,
    Invalid,
    Refusal,
    RefusalKind,
    Unauthorized,
    Unavailable,
    all_refusals,
)

PACKAGE = Path(openslot.app.__file__).parent
CORE = sorted((PACKAGE / "platform" / "core").rglob("*.py"))
ERRORS = sorted({*PACKAGE.rglob("errors.py")} - {PACKAGE / "doors" / "http" / "errors.py"})
OURS = [refusal for refusal in all_refusals() if refusal.__module__.startswith("openslot.")]
HEADER = re.compile(r"[A-Za-z]+(-[A-Za-z]+)+")


def name(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def is_of_http(value: object) -> bool:
    if isinstance(value, str):
        return HEADER.fullmatch(value) is not None
    return isinstance(value, int) and 100 <= value < 600


@pytest.mark.parametrize("path", CORE, ids=name)
def test_core_imports_nothing_that_serves_http(path: Path) -> None:
    serving = re.compile(r"(http$|http\.server|httptools|uvicorn|openslot\.(doors|platform\.routing))")

    assert [module for module in imports(path) if serving.match(module)] == []


@pytest.mark.parametrize("path", ERRORS, ids=name)
def test_errors_of_core_and_domains_name_no_status_and_no_header(path: Path) -> None:
    constants = (node.value for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Constant))

    assert [value for value in constants if is_of_http(value)] == []


@pytest.mark.parametrize("refusal", OURS, ids=lambda refusal: refusal.__name__)
def test_only_refusals_of_the_http_layer_have_a_status(refusal: type[Refusal]) -> None:
    is_of_http_layer = refusal.__module__ == "openslot.doors.http.errors"

    assert issubclass(refusal, HttpRefusal) is is_of_http_layer
    assert ("status" in vars(refusal)) is (is_of_http_layer and refusal is not HttpRefusal)
    assert "headers" not in vars(refusal)
    assert refusal.kind in RefusalKind


def test_every_kind_has_a_status_of_its_own() -> None:
    assert set(STATUSES) == set(RefusalKind)
    assert len(set(STATUSES.values())) == len(STATUSES)


@pytest.mark.parametrize(
    ("refusal", "headers"),
    [
        (Invalid(), {}),
        (Internal(), {}),
        (Unauthorized(), {"WWW-Authenticate": "Bearer"}),
        (InvalidCredentials(), {"WWW-Authenticate": "Bearer"}),
        (Unavailable(), {"Retry-After": "2"}),
        (HoldLimitExceeded(), {"Retry-After": "60"}),
        (
            LimitReached("No", limit=60, retry_after=7),
            {"Retry-After": "7", "RateLimit-Limit": "60", "RateLimit-Remaining": "0", "RateLimit-Reset": "7"},
        ),
        (MethodNotAllowed("No", headers={"Allow": "GET"}), {"Allow": "GET"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_headers_say_what_to_do_about_a_refusal(refusal: Refusal, headers: dict[str, str]) -> None:
    assert headers_of(refusal) == headers


def test_the_list_of_errors_tells_each_status() -> None:
    rows = re.findall(
        r"^\| `([a-z_]+)` \| (\d+) \|", (PACKAGE.parent / "docs/errors.md").read_text("utf-8"), re.MULTILINE
    )
    coded = [refusal for refusal in OURS if hasattr(refusal, "code")]

    assert len(rows) > 100
    assert {(code, int(status)) for code, status in rows} == {(refusal.code, told_status(refusal)) for refusal in coded}


def told_status(refusal: type[Refusal]) -> int:
    if issubclass(refusal, RpcRefusal):
        return 200
    return refusal.status if issubclass(refusal, HttpRefusal) else STATUSES[refusal.kind]
