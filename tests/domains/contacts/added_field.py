"""Rules about a field of contacts that only a copy of the package has; `test_added_field.py` makes it and runs them."""

import csv
from io import StringIO
from typing import Any

import httpx2
import msgspec
import pytest

from openslot.domains.access import operations as access
from openslot.domains.accounts.models import User
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingRef
from openslot.domains.crm.rules import describe_person
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.text import describe_checked
from openslot.platform.core.work import Runtime
from openslot.vendors.hubspot.vendor import HubSpotOptions
from tests.domains.exports.support import export
from tests.doors.agents.tools.conftest import BY_NAME, Run, run
from tests.doors.assistants.conftest import assistant
from tests.doors.assistants.support import ConnectedAssistant
from tests.support.clocks import clock
from tests.support.contact_imports import bring_in, read_people
from tests.support.host import Book, book, member, settings, user
from tests.support.page import read_page

__all__ = ["assistant", "book", "clock", "member", "run", "settings", "user"]

NOOR = {"name": "Noor Haddad", "email": "noor@haddad.example"}
TITLE = "Head of design"


@pytest.fixture
async def rest(client: httpx2.AsyncClient, runtime: Runtime, user: User) -> httpx2.AsyncClient:
    async with runtime.transaction(OPERATOR) as work:
        key, _ = await access.create_api_key(work, user, name="test")
    client.headers["authorization"] = f"Bearer {key}"
    return client


async def add(rest: httpx2.AsyncClient, **more: object) -> dict[str, Any]:
    answer = await rest.post("/api/v1/contacts", json={**NOOR, "jobTitle": TITLE, **more})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def test_the_api_takes_shows_and_changes_it(rest: httpx2.AsyncClient) -> None:
    made = await add(rest, jobTitle=f" {TITLE} ")
    path = f"/api/v1/contacts/{made['id']}"
    (listed,) = (await rest.get("/api/v1/contacts")).json()["data"]

    assert made["jobTitle"] == listed["jobTitle"] == (await rest.get(path)).json()["jobTitle"] == TITLE
    assert (await rest.patch(path, json={"jobTitle": "CEO"})).json()["jobTitle"] == "CEO"
    assert (await rest.patch(path, json={"company": "Haddad"})).json()["jobTitle"] == "CEO"
    assert (await rest.patch(path, json={"jobTitle": None})).json()["jobTitle"] is None
    assert "jobTitle" in (await rest.patch(path, json={"jobTitle": "x" * 201})).json()["details"]


async def test_the_description_of_the_api_has_it(client: httpx2.AsyncClient) -> None:
    shapes = (await client.get("/api/openapi.json")).json()["components"]["schemas"]
    having = {name for name, shape in shapes.items() if "jobTitle" in shape.get("properties", {})}

    assert {"ContactWanted", "ContactChanges", "EmbeddedContact", "ListedContact", "DetailedContact"} <= having
    assert shapes["EmbeddedContact"]["properties"]["jobTitle"]["examples"] == [TITLE]


async def test_bookings_show_it(rest: httpx2.AsyncClient, runtime: Runtime, book: Book) -> None:
    await add(rest)
    booking = await book(email=NOOR["email"])
    work = runtime.work(OPERATOR)
    details = await bookings.get_booking(work, BookingRef(booking.id, None))

    assert (await rest.get(f"/api/v1/bookings/{booking.id}")).json()["contact"]["jobTitle"] == TITLE
    assert getattr(describe_person(details), "job_title", None) == TITLE
    assert b'"jobTitle":"Head of design"' in msgspec.json.encode(describe_person(details))


async def test_pages_show_it(member: httpx2.AsyncClient, runtime: Runtime, book: Book) -> None:
    booking = await book(email=NOOR["email"])
    contact_id = await runtime.pool.fetchval("select id from contacts")
    form = read_page(await member.get(f"/contacts/{contact_id}/edit"))
    assert "Job title (optional)" in form.text
    sent = await member.post(f"/contacts/{contact_id}/edit", data={**NOOR, "job_title": TITLE})
    assert sent.status_code == 303, sent.text

    for path in (f"/contacts/{contact_id}", f"/bookings/{booking.id}"):
        text = read_page(await member.get(path)).text
        assert "Job title" in text, path
        assert TITLE in text, path
    form = read_page(await member.get(f"/contacts/{contact_id}/edit"))
    assert form.fields["job_title"].value == TITLE
    assert f'"jobTitle": "{TITLE}"' in form.text


async def test_files_have_it(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    for number, column in enumerate(("Job title", "Position")):
        await bring_in(runtime, user, f"Name,Email,{column}\nNoor,noor{number}@haddad.example,{TITLE}\n")
    assert {person["job_title"] for person in (await read_people(runtime, user)).values()} == {TITLE}

    rows = list(csv.DictReader(StringIO((await member.get("/contacts/export.csv")).text.removeprefix("\ufeff"))))
    assert [row["Job title"] for row in rows] == [TITLE, TITLE]
    file = await export(runtime, user)
    exported = list(csv.DictReader(StringIO(file.read("contacts.csv").decode("utf-8-sig"))))
    assert [row["jobTitle"] for row in exported] == [TITLE, TITLE]
    assert [row["jobTitle"] for row in msgspec.json.decode(file.read("contacts.json"))] == [TITLE, TITLE]


async def test_agents_read_and_change_it(rest: httpx2.AsyncClient, run: Run) -> None:
    contact_id = (await add(rest))["id"]
    changed = await run("update_contact_metadata", contactId=contact_id, metadata={"jobTitle": "CEO"})
    read = await run("get_contact", contactId=contact_id)

    assert "jobTitle" in str(
        msgspec.json.schema(BY_NAME["update_contact_metadata"].arguments, schema_hook=describe_checked)
    )
    assert "CEO" in str(changed["jobTitle"])
    assert "CEO" in str(read["jobTitle"])


async def test_assistants_get_it_quoted(assistant: ConnectedAssistant) -> None:
    made = (await assistant.call("create_contact", **NOOR, jobTitle=TITLE))["result"]["structuredContent"]
    changes = {"jobTitle": "CEO"}
    changed = await assistant.call("update_contact", contactId=made["id"], changes=changes)

    assert made["jobTitle"]["text"] == TITLE
    assert changed["result"]["structuredContent"]["jobTitle"]["text"] == "CEO"


async def test_it_is_gone_with_the_contact(rest: httpx2.AsyncClient, runtime: Runtime) -> None:
    path = f"/api/v1/contacts/{(await add(rest))['id']}"
    assert (await rest.delete(path)).status_code == 200

    assert await runtime.pool.fetchval("select count(*) from contacts where job_title is not null") == 0


def test_hubspot_has_a_property_for_it() -> None:
    assert getattr(HubSpotOptions(), "job_title", None) == "jobtitle"
