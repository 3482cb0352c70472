"""No page of contacts, conversations and calls shows another host's data."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from openslot.platform.routing import collect, find_declaration
from tests.doors.web.contacts.conftest import PHONE, Add, Ring, Say
from tests.support.contact_imports import bring_in
from tests.support.forms import NOBODY

FILE = "Name,Email\nAnn,ann@x.example\nBad,bad\nAnn,ann@x.example\n"
NAMES = ("contact_id", "import_id", "conversation_id", "call_id")


def paths(method: str, *ids: object) -> Iterator[str]:
    """List the paths of all forms or pages, with these ids."""
    for handler in collect(*(f"openslot.doors.web.dashboard.{each}" for each in ("contacts", "talks", "calls"))):
        declaration = find_declaration(handler)
        assert declaration is not None
        if declaration.method == method:
            path = declaration.path
            for name, each in zip(NAMES, ids or (NOBODY,) * 4, strict=True):
                path = path.replace(f"{{{name}}}", str(each))
            yield path


@pytest.fixture
def everything(runtime: Runtime, add: Add, say: Say, ring: Ring) -> Any:
    """Give someone one of each thing, and return their ids."""

    async def make(owner: User) -> tuple[UUID, UUID, UUID, UUID]:
        contact = await add(owner=owner, phone=PHONE, company="C", notes="N", tags=("t",))
        made = await bring_in(runtime, owner, FILE)
        return contact.id, made.id, (await say(owner=owner)).conversation_id, (await ring(owner=owner)).id

    return make


async def test_another_hosts_things_are_the_same_404_as_none(
    member: httpx2.AsyncClient, runtime: Runtime, stranger: User, add: Add, everything: Any
) -> None:
    await add("Mine", "mine@x.example")
    theirs = await everything(stranger)
    before = await runtime.pool.fetch("select * from contacts order by id")
    for method in ("GET", "POST"):
        for path, nothing in zip(paths(method, *theirs), paths(method), strict=True):
            if path == nothing:
                continue
            data = {"name": "x", "email": "x@x.example", "content": "x", "column": ["name", "email"]}
            answer = await member.request(method, path, data=data if method == "POST" else None)
            other = await member.request(method, nothing, data=data if method == "POST" else None)

            assert answer.status_code == 404, path
            assert answer.text == other.text
    assert await runtime.pool.fetch("select * from contacts order by id") == before
    for path in (
        "/contacts",
        "/contacts?sort=name",
        "/contacts?q=a",
        "/contacts?q=haddad",
        "/contacts/export.csv",
        "/contacts/import",
        "/conversations",
        "/conversations?q=a",
        "/calls",
        "/calls?q=a",
    ):
        text = (await member.get(path)).text
        assert not any(word in text for word in ("noor@haddad", "people.csv", PHONE)), path
