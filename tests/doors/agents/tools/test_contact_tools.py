"""Tools on contacts: those of all users, and what may be changed of them."""

from contextlib import AsyncExitStack
from typing import Any

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.contacts import operations as contacts
from openslot.domains.contacts.schemas import ContactWanted
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Refusal
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import Book
from tests.doors.agents.tools.conftest import Run, events

STRIPE = "select pg_backend_pid() % 1024"

NOBODY = str(new_id())


@pytest.fixture
async def known(runtime: Runtime, user: User, admin: User) -> list[str]:
    """Contacts of two users, the newest first."""
    async with runtime.transaction(OPERATOR) as work:
        for owner, name, company in (
            (user, "Noor Haddad", "Haddad Design"),
            (admin, "Li Wei", "Okafor"),
            (user, "Jonas Okafor", None),
            (admin, "Noor Haddad", None),
        ):
            email = f"{name.split(' ')[0].lower()}@{owner.username}.example"
            typed: dict[str, Any] = {"name": name, "email": email, "company": company}
            await contacts.add_contact(work, owner, ContactWanted(**typed))
    return [str(row["id"]) for row in await runtime.pool.fetch("select id from contacts order by id desc")]


async def test_one_users_contacts_are_those_of_the_rest_api(
    run: Run, client: httpx2.AsyncClient, bearer: dict[str, str], user: User, known: list[str], book: Book
) -> None:
    del known
    await book(inviteeEmail="jonas@mara.example")
    own = {"userId": str(user.id)}
    listed = (await client.get("/api/v1/contacts", params={"search": "o"}, headers=bearer)).json()
    assert len(listed["data"]) == 2
    listed["data"] = [row | own for row in listed["data"]]

    assert await run("list_contacts", **own, search="o") == listed
    for row in listed["data"]:
        detail = (await client.get(f"/api/v1/contacts/{row['id']}", headers=bearer)).json()
        assert await run("get_contact", contactId=row["id"]) == detail | own


async def test_all_users_contacts_are_listed_searched_and_paged(
    run: Run, runtime: Runtime, user: User, known: list[str]
) -> None:
    owners = {
        str(row["id"]): str(row["owner_id"]) for row in await runtime.pool.fetch("select id, owner_id from contacts")
    }

    async def ids(**given: object) -> list[str]:
        found = await run("list_contacts", **given)
        assert all(row["userId"] == owners[row["id"]] for row in found["data"])
        return [row["id"] for row in found["data"]]

    assert await ids() == known
    assert await ids(limit=3, page=2) == known[3:]
    assert (await run("list_contacts", limit=3, page=5))["pagination"] == {
        "page": 5,
        "limit": 3,
        "total": 4,
        "totalPages": 2,
    }
    assert await ids(search="HADDAD") == [known[0], known[3]]
    assert await ids(search="okafor") == [known[1], known[2]]
    assert await ids(search="okafor", limit=1, page=2) == [known[2]]
    assert await ids(search="nobody at all") == []
    assert await ids(userId=str(user.id), search="no") == [each for each in known if owners[each] == str(user.id)][1:]


async def test_the_total_follows_what_is_added_and_deleted(
    run: Run, runtime: Runtime, user: User, known: list[str]
) -> None:
    async def total() -> int:
        count: int = (await run("list_contacts"))["pagination"]["total"]
        assert count == await runtime.pool.fetchval("select count(*) from contacts")
        return count

    assert await total() == 4
    await runtime.pool.execute("delete from contacts where id = $1::text::uuid", known[0])
    assert await total() == 3
    await runtime.pool.execute("delete from event_types where owner_id = $1", user.id)
    await runtime.pool.execute("delete from users where id = $1", user.id)
    assert await total() == 1
    await runtime.pool.execute("truncate contacts cascade")
    assert await total() == 0


async def test_two_who_add_a_contact_at_the_same_time_do_not_wait_for_each_other(
    run: Run, runtime: Runtime, user: User
) -> None:
    async with runtime.transaction(OPERATOR) as slow:
        wanted = ContactWanted(name="Slow", email="slow@example.org")  # type: ignore[arg-type]
        await contacts.add_contact(slow, user, wanted)
        async with AsyncExitStack() as opened:
            quick = await opened.enter_async_context(runtime.transaction(OPERATOR))
            # Two connections in a thousand count in the same row.
            while await quick.db.fetchval(STRIPE) == await slow.db.fetchval(STRIPE):
                quick = await opened.enter_async_context(runtime.transaction(OPERATOR))
            wanted = ContactWanted(name="Quick", email="quick@example.org")  # type: ignore[arg-type]
            await contacts.add_contact(quick, user, wanted)
        assert (await run("list_contacts"))["pagination"]["total"] == 1

    assert (await run("list_contacts"))["pagination"]["total"] == 2


async def test_metadata_is_changed_and_cleared(run: Run, runtime: Runtime, known: list[str]) -> None:
    contact_id = known[3]
    changed = await run(
        "update_contact_metadata",
        contactId=contact_id,
        metadata={"company": None, "phone": "+49 30 12345678", "notes": "Prefers mornings.", "tags": ["vip", "vip"]},
    )

    assert (changed["company"], changed["phone"], changed["notes"], changed["tags"]) == (
        None,
        "+493012345678",
        "Prefers mornings.",
        ["vip"],
    )
    assert changed == await run("get_contact", contactId=contact_id)
    row = await runtime.pool.fetchrow("select company, phone, tags from contacts where id = $1::text::uuid", contact_id)
    assert row is not None
    assert tuple(row.values()) == (None, "+493012345678", ["vip"])
    assert [fact["contact"]["id"] for fact in await events(runtime, "contact.changed")] == [contact_id]
    kept = await run("update_contact_metadata", contactId=contact_id, metadata={"tags": None})
    assert (kept["tags"], kept["phone"]) == ([], "+493012345678")
    await run("update_contact_metadata", contactId=contact_id, metadata={"tags": []})
    assert len(await events(runtime, "contact.changed")) == 2


@pytest.mark.parametrize(
    ("metadata", "details"),
    [
        ({}, {"metadata": "must have at least one field"}),
        ({"name": "X"}, {"metadata.name": "is not a known field"}),
        ({"email": "x@example.org"}, {"metadata.email": "is not a known field"}),
        ({"tags": [" "]}, {"metadata.tags.0": "must not be empty"}),
        ({"company": "x" * 201}, {"metadata.company": "must have at most 200 characters"}),
    ],
)
async def test_wrong_metadata_is_named(
    run: Run, known: list[str], metadata: dict[str, object], details: dict[str, str]
) -> None:
    with pytest.raises(Refusal) as refused:
        await run("update_contact_metadata", contactId=known[0], metadata=metadata)

    assert refused.value.details == details


@pytest.mark.parametrize(
    ("name", "arguments", "details"),
    [
        ("list_contacts", {"userId": NOBODY}, {"userId": "does not exist"}),
        (
            "list_contacts",
            {"search": "no"},
            {"search": "must have at least 3 characters unless userId is given"},
        ),
        ("list_contacts", {"limit": 0}, {"limit": "must be at least 1"}),
        ("get_contact", {"contactId": NOBODY}, {"contactId": "does not exist"}),
        ("get_contact", {"contactId": "x"}, {"contactId": "must be a UUID"}),
        (
            "update_contact_metadata",
            {"contactId": NOBODY, "metadata": {"notes": "x"}},
            {"contactId": "does not exist"},
        ),
    ],
)
async def test_wrong_contacts_and_arguments_are_named(
    run: Run, name: str, arguments: dict[str, object], details: dict[str, str]
) -> None:
    with pytest.raises(Refusal) as refused:
        await run(name, **arguments)

    assert refused.value.details == details
