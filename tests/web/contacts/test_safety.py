"""No page shows another host's data, no form of another site is taken, and no stored text becomes markup."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import httpx2
import pytest

from openslot.accounts.models import User
from openslot.core.work import Runtime
from openslot.routing import collect, find_declaration
from tests.support.contact_imports import bring_in, start, upload
from tests.support.forms import NOBODY, from_other_sites
from tests.support.host import Book
from tests.support.hostile_text import CORPUS, check_pages
from tests.web.contacts.conftest import PHONE, Add, Ring, Say

FILE = "Name,Email\nAnn,ann@x.example\nBad,bad\nAnn,ann@x.example\n"
NAMES = ("contact_id", "import_id", "conversation_id", "call_id")


def paths(method: str, *ids: object) -> Iterator[str]:
    """List the paths of all forms or pages, with these ids."""
    for handler in collect(*(f"openslot.web.dashboard.{each}" for each in ("contacts", "talks", "calls"))):
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


def test_every_page_and_form_is_known_here() -> None:
    assert (len(list(paths("GET"))), len(list(paths("POST")))) == (18, 9)


async def test_a_form_of_another_site_is_refused_and_changes_nothing(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, everything: Any
) -> None:
    ids = await everything(user)
    before = await runtime.pool.fetch("select * from contacts order by id")
    for path, headers in from_other_sites(paths("POST", *ids)):
        answer = await member.post(path, data={"name": "Eve", "email": "eve@x.example"}, headers=headers)

        assert answer.status_code == 403, (path, headers)
    assert await runtime.pool.fetch("select * from contacts order by id") == before
    assert await runtime.pool.fetchval("select count(*) from contact_imports") == 1


async def test_without_a_session_every_page_asks_to_sign_in(
    client: httpx2.AsyncClient, user: User, everything: Any
) -> None:
    ids = await everything(user)
    for path in paths("GET", *ids):
        assert (await client.get(path)).headers["location"].startswith("/login"), path
    for path in paths("POST", *ids):
        assert (await client.post(path, data={})).headers["location"] == "/login?next=/", path


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


@pytest.mark.parametrize("text", CORPUS)
async def test_stored_text_stays_text(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book, everything: Any, text: str
) -> None:
    ids = await everything(user)
    await book(email="noor@haddad.example")
    running, draft = await start(runtime, user, FILE), await upload(runtime, user, FILE)
    await spoil(runtime, text)
    addresses = [*paths("GET", *ids), f"/contacts/imports/{draft.id}", f"/contacts/imports/{running.id}"]
    addresses += [f"{path}?q=%22%3E%3Cxss-probe%3E" for path in ("/contacts", "/conversations", "/calls")]
    pages = [await member.get(path) for path in addresses if not path.endswith((".csv", "/recording"))]
    sent = {"name": text, "email": text, "phone": text, "company": text, "notes": text * 999, "tags": text}
    pages += [await member.post("/contacts", data=sent), await member.post(f"/contacts/{ids[0]}/edit", data=sent)]
    pages += [await member.post(f"/contacts/imports/{draft.id}/start", data={"column": text, "existing": text})]
    pages += [await member.post(f"/conversations/{ids[2]}/reply", data={"content": text})]
    assert {page.status_code for page in pages} <= {200, 400}
    assert check_pages(pages) > 15


async def spoil(runtime: Runtime, text: str) -> None:
    """Put a text into every field that these pages show, past every check."""
    execute = runtime.pool.execute
    await execute("update contacts set name = $1, email = $1 || id, company = $1, notes = $1, tags = array[$1]", text)
    await execute("update event_types set name = $1", text)
    await execute("update contact_imports set file_name = $1, header = array[$1, $1]", text)
    await execute("update contact_import_lines set cells = json_build_array($1::text, $1::text)::text", text)
    await execute("update messages set content = $1", text)
    await execute("update calls set agent_name = $1", text)
