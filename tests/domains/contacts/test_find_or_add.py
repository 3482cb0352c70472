"""Contacts found or added by bookings, and found by phone."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.contacts import operations
from openslot.domains.contacts.errors import ContactEmailAlreadyExists
from openslot.domains.contacts.models import Contact
from openslot.domains.contacts.schemas import ContactChanges, ContactWanted
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.text import EmailAddress, Name
from openslot.platform.core.work import Runtime
from tests.domains.contacts.conftest import Add, Events

EMAIL = "noor@haddad.example"


async def find_or_add(runtime: Runtime, owner: User, email: str = EMAIL, phone: str | None = None) -> Contact:
    async with runtime.transaction(OPERATOR) as work:
        contact = await operations.find_or_add_contact(work, owner_id=owner.id, name="Noor", email=email, phone=phone)
        await work.record()
        return contact


async def test_a_new_invitee_becomes_a_contact(runtime: Runtime, user: User, events: Events) -> None:
    contact = await find_or_add(runtime, user, phone="+49 30 12345678")

    assert (contact.name, contact.email, contact.phone) == ("Noor", EMAIL, "+493012345678")
    (event,) = await events()
    assert event["subject_id"] == contact.id
    found, total = await operations.list_contacts(runtime.work(OPERATOR), user, search="noor")
    assert ([each.contact for each in found], total) == ([contact], 1)


async def test_a_known_invitee_stays_as_the_owner_knows_them(
    runtime: Runtime, add: Add, user: User, events: Events
) -> None:
    known = await add(name="Noor Haddad", phone="+46701234567")

    found = await find_or_add(runtime, user, email=EMAIL.upper(), phone="+493012345678")

    assert found == known
    assert len(await events()) == 1


async def test_only_a_missing_phone_number_is_filled_in(runtime: Runtime, add: Add, user: User) -> None:
    known = await add()

    found = await find_or_add(runtime, user, phone="+493012345678")

    assert (found.id, found.name, found.phone) == (known.id, known.name, "+493012345678")
    assert await operations.get_contact(runtime.work(OPERATOR), user, known.id) == found


async def test_a_text_that_is_no_phone_number_stops_no_booking(runtime: Runtime, user: User) -> None:
    assert (await find_or_add(runtime, user, phone="ask me")).phone is None


async def test_fifty_at_once_make_one_contact_and_one_event(runtime: Runtime, user: User, events: Events) -> None:
    found = await asyncio.gather(
        *(find_or_add(runtime, user, email=EMAIL.upper() if n % 2 else EMAIL) for n in range(50))
    )

    assert len({contact.id for contact in found}) == 1
    assert len(await events()) == 1
    assert await runtime.pool.fetchval("select count(*) from contacts") == 1


async def test_one_who_waited_for_a_booking_that_failed_adds_the_contact(runtime: Runtime, user: User) -> None:
    async with runtime.pool.acquire() as connection:
        failing = connection.transaction()
        await failing.start()
        work = runtime.work(OPERATOR)
        work.db = connection
        lost = await operations.find_or_add_contact(work, owner_id=user.id, name="Noor", email=EMAIL)
        waiting = asyncio.create_task(find_or_add(runtime, user))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await failing.rollback()

    assert (await waiting).id != lost.id


async def test_a_contact_in_use_by_a_booking_is_deleted_only_after_it(runtime: Runtime, add: Add, user: User) -> None:
    contact = await add()

    async def delete() -> None:
        async with runtime.transaction(OPERATOR) as work:
            await operations.delete_contact(work, user, contact.id)

    async with runtime.transaction(OPERATOR) as work:
        await operations.find_or_add_contact(work, owner_id=user.id, name="Noor", email=EMAIL)
        deleting = asyncio.create_task(delete())
        await asyncio.sleep(0.05)
        assert not deleting.done()
    await deleting


async def test_each_owner_has_a_contact_of_their_own(runtime: Runtime, add: Add, user: User, stranger: User) -> None:
    theirs = await add(owner=stranger)

    assert (await find_or_add(runtime, user)).id != theirs.id


async def test_a_refused_address_leaves_the_transaction_alive(runtime: Runtime, add: Add, user: User) -> None:
    await add()

    async with runtime.transaction(OPERATOR) as work:
        with pytest.raises(ContactEmailAlreadyExists):
            await operations.add_contact(work, user, ContactWanted(name=Name("Again"), email=EmailAddress(EMAIL)))
        await operations.add_contact(work, user, ContactWanted(name=Name("Ida"), email=EmailAddress("ida@x.example")))

    assert await runtime.pool.fetchval("select count(*) from contacts") == 2


async def test_two_changes_at_once_both_hold(runtime: Runtime, add: Add, user: User) -> None:
    contact = await add()

    async def change(**fields: Any) -> None:
        async with runtime.transaction(OPERATOR) as work:
            await operations.change_contact(work, user, contact.id, ContactChanges(**fields))

    await asyncio.gather(change(company="Acme"), change(notes="Kind."))

    now = await operations.get_contact(runtime.work(OPERATOR), user, contact.id)
    assert (now.company, now.notes) == ("Acme", "Kind.")


async def test_a_phone_number_leads_to_the_first_who_had_it(
    runtime: Runtime, add: Add, user: User, stranger: User
) -> None:
    work = runtime.work(OPERATOR)
    await add(owner=stranger, phone="+493012345678")
    assert await operations.find_by_phone(work, user.id, "+493012345678") is None

    first = await add(phone="+493012345678")
    await add(email="ida@x.example", phone="+493012345678")

    assert await operations.find_by_phone(work, user.id, "+49 30 12345678") == first
    assert await operations.find_by_phone(work, user.id, "nobody") is None


async def test_what_is_kept_is_what_was_returned(runtime: Runtime, add: Add, user: User) -> None:
    made = await add(company="Acme", notes="Kind.", tags=("vip",), phone="+46701234567")

    assert await operations.get_contact(runtime.work(OPERATOR), user, made.id) == made
    assert made.created_at <= datetime.now(UTC)
