"""Tests that only read: with the mark `reads_only`, all tests of a file share what its fixtures make.

The database refuses what such a test or its app would write, except what reading itself leaves: the counts of callers
and views, and when a session was last seen. What is shared must not be changed otherwise either: a client that signs in
stays signed in, and a clock that is set stays so.
"""

from collections.abc import AsyncIterator
from copy import copy
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest
from _pytest.scope import Scope
from _pytest.tmpdir import tmppath_result_key

from tests.support.shared_database import SharedDatabase

MARK = "reads_only"
READER, WRITER = "reads_only", "makes_what_is_read"
ROLES = f"""
create role {WRITER};
create role {READER} login;
grant all on all tables in schema public to {WRITER};
grant all on all sequences in schema public to {WRITER};
grant select on all tables in schema public to {READER};
grant insert, update, delete on rate_log, page_views to {READER};
grant update (last_seen_at) on sessions to {READER};
grant {WRITER} to {READER}"""


def is_reading(node: pytest.Item | pytest.Collector) -> bool:
    """Tell whether the tests of a file only read."""
    module = node.getparent(pytest.Module)
    return module is not None and any(mark.name == MARK for mark in module.own_markers)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the fixtures of tests that only read be made once for their file."""
    shared: dict[tuple[str, int], Any] = {}
    for item in filter(is_reading, items):
        module = item.getparent(pytest.Module)
        assert module is not None
        assert not item.get_closest_marker("own_database"), (
            f"{item.nodeid} shares its database: move it to another file"
        )
        # Where pytest looks whether a directory may be removed.
        module.stash[tmppath_result_key] = {}
        found: dict[str, Any] = item._fixtureinfo.name2fixturedefs  # type: ignore[attr-defined]
        for name, definitions in found.items():
            found[name] = tuple(shared.setdefault((module.nodeid, id(one)), _share(one)) for one in definitions)
        names: list[str] = item.fixturenames  # type: ignore[attr-defined]
        # Only these tests need it; those of a file with a database of its own could not ask for it.
        names.insert(0, reader_url.__name__)
        names.append(refusing_writes.__name__)


def _share(definition: Any) -> Any:
    """Let what a fixture of ours makes last as long as a file."""
    is_ours = definition.func.__module__.startswith("tests.") or definition.argname == "tmp_path"
    if definition._scope is not Scope.Function or not is_ours:
        return definition
    made = copy(definition)
    made._scope, made._finalizers = Scope.Module, []
    return made


@pytest.fixture(scope="session")
async def reader_url(shared_database: SharedDatabase) -> str:
    """The address by which apps and runtimes of tests that only read come to the database."""
    await shared_database.run(ROLES)
    parts = urlsplit(shared_database.url)
    return urlunsplit(parts._replace(netloc=f"{READER}@{parts.netloc.rpartition('@')[2]}"))


@pytest.fixture
async def refusing_writes(shared_database: SharedDatabase) -> AsyncIterator[None]:
    """Refuse what a test writes, once its fixtures are made; those of later tests may write again."""
    await shared_database.run(f"revoke {WRITER} from {READER}")
    yield
    await shared_database.run(f"grant {WRITER} to {READER}")
