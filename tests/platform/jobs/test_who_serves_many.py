"""Every periodic job and every consequence serves each of many alone, or says why one can't stop the others."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from openslot.platform.core.work import Consequence, Periodic
from openslot.platform.jobs.each import serve_each
from openslot.wiring import PERIODIC, WIRING

Function = Callable[..., Any]

# Each of these changes all rows that are due by a few statements, in batches: there is no one to fail alone.
BY_STATEMENTS = {
    "access.tidy",
    "accounts.former_usernames",
    "agents.tidy",
    "allowances.tidy",
    "analytics.tidy",
    "assistants.expire_approvals",
    "assistants.tidy",
    "assistants.tidy_calls",
    "change_log.tidy",
    "claims.tidy",
    "contacts.tidy",
    "effects.sweep",
    "effects.tidy",
    "events.tidy",
    "exports.delete_expired",
    "mail.tidy",
    "messaging.tidy",
    "oauth.tidy",
    "oidc.tidy",
    "payments.tidy",
    "payments.tidy_notices",
    "queue.tidy",
    "requests.tidy",
    "scim.tidy",
    "wait_list.tidy",
    "webhooks.tidy",
}
# Loops within what these jobs run, and of what they are.
LOOPS = {
    "domains.access.jobs.tidy_access": "kinds of credentials and tables, each with a statement of its own",
    "platform.jobs.batches.repeat": "batches of one statement",
    "platform.jobs.batches.walk": "batches of one statement",
}
# Each of these is about the one of whom the event tells, whose change must not be made without it.
ABOUT_ONE = {
    "messaging.tell_accepted": "tells one member of the numbers that are theirs now, in the same transaction",
    "messaging.tell_joined": "tells one member of the numbers that are theirs now, in the same transaction",
    "messaging.tell_left": "tells one former member, and records it for each number in the same transaction",
    "payments.keep_refund_until": "writes one moment of the booking that is rescheduled",
    "payments.tell_left": "tells one former member, and records it for all event types together",
    "reminders.follow_owner": "changes the rows of one event type by a statement",
}
RUNS = [each for each in WIRING.consequences if each.run]


def reach(function: Function) -> list[Function]:
    """List a function of the product and all others that it uses, as far as to what serves each alone."""
    found: dict[Function, None] = {}
    todo = [_unwrap(function)]
    while todo:
        current = todo.pop()
        if current not in found:
            found[current] = None
            todo += list_used(current)
    return list(found)


def list_used(function: Function) -> Iterator[Function]:
    if function is serve_each or function.__module__.startswith("openslot.platform.core"):
        return
    names = {**vars(inspect.getmodule(function)), **inspect.getclosurevars(function).nonlocals}
    for node in ast.walk(parse(function)):
        if isinstance(node, ast.Name | ast.Attribute):
            used = _unwrap(_find(names, ast.unparse(node)))
            if inspect.isfunction(used) and used.__module__.startswith("openslot."):
                yield used


def parse(function: Function) -> ast.AST:
    return ast.parse(textwrap.dedent(inspect.getsource(function)))


def _find(names: dict[str, Any], path: str) -> Any:
    first, *others = path.split(".")
    found = names.get(first)
    for name in others:
        found = getattr(found, name, None) if inspect.ismodule(found) else None
    return found


def _unwrap(function: Any) -> Any:
    while isinstance(function, partial) or hasattr(function, "__wrapped__"):
        function = function.func if isinstance(function, partial) else function.__wrapped__
    return function


def has_loop(function: Function) -> bool:
    """Return whether a function waits for something in the body of a loop."""
    return any(isinstance(part, ast.Await) for body in list_bodies(parse(function)) for part in ast.walk(body))


def list_bodies(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        match node:
            case ast.For() | ast.AsyncFor() | ast.While():
                yield from node.body
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                yield node.elt
                yield from (part for each in node.generators for part in each.ifs)
            case ast.DictComp():
                yield from (node.key, node.value)


def name(function: Function) -> str:
    return f"{function.__module__.removeprefix('openslot.')}.{function.__name__}"


def list_loops(function: Function) -> set[str]:
    reached = (each for each in reach(function) if not each.__module__.startswith("openslot.platform.core"))
    return {name(each) for each in reached if has_loop(each)}


@pytest.mark.parametrize("job", PERIODIC, ids=lambda each: each.name)
def test_a_job_serves_each_alone_or_all_by_statements(job: Periodic) -> None:
    is_served = serve_each in reach(job.run)
    assert is_served != (job.name in BY_STATEMENTS)
    assert is_served or list_loops(job.run) <= LOOPS.keys()
    # What a job does with the many itself is in nobody's savepoint.
    assert not has_loop(job.run) or name(job.run) in LOOPS


@pytest.mark.parametrize("consequence", RUNS, ids=lambda each: each.name)
def test_a_consequence_serves_each_alone_or_is_about_one(consequence: Consequence) -> None:
    assert consequence.run is not None
    assert (serve_each in reach(consequence.run)) != (consequence.name in ABOUT_ONE)


def test_what_is_said_is_about_what_there_is() -> None:
    assert {each.name for each in PERIODIC} >= BY_STATEMENTS
    assert ABOUT_ONE.keys() <= {each.name for each in RUNS}
    assert LOOPS.keys() == {loop for each in PERIODIC if each.name in BY_STATEMENTS for loop in list_loops(each.run)}


async def _looping() -> None:
    for each in (1, 2):
        await _not_looping(each)


async def _not_looping(_: int) -> list[int]:
    return [each + 1 for each in await _list()]


async def _list() -> list[int]:
    return []


def test_a_loop_is_seen_where_something_is_waited_for_in_it() -> None:
    assert has_loop(_looping)
    assert not has_loop(_not_looping)
