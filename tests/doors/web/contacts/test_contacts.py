"""Contacts: the list, one contact, the forms, and the file."""

import csv
from datetime import timedelta
from io import StringIO

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.doors.web.dashboard.contacts import contacts
from openslot.platform.core.work import Runtime
from tests.doors.web.contacts.conftest import PHONE, Add, Import, Ring, Say
from tests.support.clocks import MONDAY, MovingClock
from tests.support.contact_imports import read_people
from tests.support.host import ELEVEN, TEN, Book
from tests.support.page import read_page

FORM = {"name": "Ann Lee", "email": "ann@lee.example"}


async def test_the_list_tells_of_the_last_and_the_next_meeting(
    member: httpx2.AsyncClient, clock: MovingClock, book: Book, add: Add
) -> None:
    await add(company="Haddad Design")
    await book()
    await book(ELEVEN)
    await book(TEN + timedelta(days=2))
    clock.now = ELEVEN + timedelta(minutes=10)
    text = " ".join((await member.get("/contacts")).text.split())

    assert "Haddad Design" in text
    assert '<td class="day" data-label="Last meeting">Today, 11:00</td>' in text
    # The meeting that is under way is the next one.
    assert '<td class="day" data-label="Next meeting">Today, 12:00</td>' in text
    assert '<td data-label="Meetings">3</td>' in text
    clock.now = ELEVEN + timedelta(minutes=30)
    assert '<td class="day" data-label="Next meeting">18 March 2026</td>' in (await member.get("/contacts")).text


SEARCHES: list[str] = ["haddad", "HADDAD", "Noor H", "noor@", "design", "o", "\uff28\uff21\uff24\uff24\uff21\uff24"]


async def test_a_search_finds_name_address_and_company_in_any_case(member: httpx2.AsyncClient, add: Add) -> None:
    await add(company="Haddad Design")
    await add("Li", "li@x.example")
    for search in SEARCHES:
        for sort in ("", "name"):
            text = (await member.get("/contacts", params={"q": search, "sort": sort})).text
            assert ("Noor Haddad" in text, "li@x.example" in text) == (True, False), search


async def test_a_search_takes_every_character_as_it_is(member: httpx2.AsyncClient, add: Add) -> None:
    await add()
    for search in ("%", "_", "nobody", "\\", "'", '"><script>'):
        answer = await member.get("/contacts", params={"q": search})

        assert answer.status_code == 200, search
        assert "No contact matches this search." in read_page(answer).text, search


async def test_contacts_are_sorted_and_have_pages(
    member: httpx2.AsyncClient, add: Add, clock: MovingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contacts, "ROWS", 2)
    for name in ("Éa Bo", "cy", "Ann", "Bo"):
        await add(name, f"{name[:2].encode().hex()}@x.example")

    async def names(query: str) -> list[str]:
        text = (await member.get(f"/contacts?{query}")).text
        places = {each: text.find(f"<bdi>{each}</bdi>") for each in ("Éa Bo", "cy", "Ann", "Bo")}
        return sorted((each for each, place in places.items() if place > 0), key=places.__getitem__)

    assert await names("") == ["Bo", "Ann"]
    assert await names("page=2") == ["cy", "Éa Bo"]
    assert await names("sort=name") == ["Ann", "Bo"]
    assert await names("sort=name&q=bo") == ["Bo", "Éa Bo"]
    assert await names("page=9") == []
    assert "page=2" in (await member.get("/contacts?sort=name&q=x.example")).text


STRANGE: list[str] = ["sort=nonsense", "page=0", "page=x", "page=" + "9" * 50, "q=" + "x" * 5000]


async def test_a_strange_address_is_no_error(member: httpx2.AsyncClient) -> None:
    for query in STRANGE:
        assert (await member.get(f"/contacts?{query}")).status_code == 200, query


async def test_a_control_character_is_a_fault_of_the_search(member: httpx2.AsyncClient, add: Add) -> None:
    await add()
    answer = await member.get("/contacts?q=%00")

    assert answer.status_code == 400
    assert read_page(answer).faults == {"q": "Has characters that are not allowed"}


async def test_without_contacts_the_list_says_what_to_do(member: httpx2.AsyncClient) -> None:
    text = (await member.get("/contacts")).text

    assert "You have no contacts yet." in text
    assert 'href="/contacts/import"' in text


async def test_a_contact_shows_meetings_conversations_and_calls(
    member: httpx2.AsyncClient, clock: MovingClock, book: Book, add: Add, say: Say, ring: Ring
) -> None:
    contact = await add("Jonas Okafor", "jonas@okafor.example", phone=PHONE, notes="Two\nlines", tags=("vip", "a, b"))
    past, coming = await book(), await book(TEN + timedelta(days=2))
    await say("Hello there")
    await say("Not for him", phone="+493087654321")
    await ring()
    clock.now = TEN + timedelta(hours=1)
    text = (await member.get(f"/contacts/{contact.id}")).text

    assert text.index(f"/bookings/{coming.id}") < text.index("Past meetings") < text.index(f"/bookings/{past.id}")
    assert "Wednesday 18 March" in text
    assert ["Hello there" in text, "Not for him" in text] == [True, False]
    assert "3 min 4 s" in text
    assert "Two\nlines" in text
    assert f'href="/bookings/new?contact={contact.id}"' in text


async def test_booking_for_a_contact_fills_in_who_it_is(member: httpx2.AsyncClient, add: Add, stranger: User) -> None:
    contact, theirs = await add(), await add("Their", "their@x.example", owner=stranger)
    path = f"/bookings/new?type=30min&contact={contact.id}"
    text = (await member.get(path)).text

    assert 'value="noor@haddad.example"' in text
    assert f'name="contact" value="{contact.id}"' in text
    assert f"&amp;contact={contact.id}" in text
    for other in (theirs.id, "nonsense", ""):
        answer = await member.get(f"/bookings/new?type=30min&contact={other}")
        assert (answer.status_code, "x.example" in answer.text) == (200, False)


async def test_a_contact_is_added_changed_and_deleted(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book
) -> None:
    sent = {**FORM, "phone": "+49 30 12345678", "company": "Lee", "tags": 'vip, "a, b", vip', "notes": "One\r\ntwo"}
    made = await member.post("/contacts", data=sent)
    path = made.headers["location"].removesuffix("?done=added")
    assert read_page(await member.get(made.headers["location"])).notices == ["The contact was added."]
    person = (await read_people(runtime, user))["ann@lee.example"]
    assert (person["phone"], person["tags"], person["notes"]) == (PHONE, ["vip", "a, b"], "One\ntwo")

    form = (await member.get(f"{path}/edit")).text
    assert 'value="vip,&#34;a, b&#34;"' in form
    changed = await member.post(f"{path}/edit", data={**FORM, "name": "Ann Li", "tags": ""})
    assert changed.headers["location"] == f"{path}?done=changed"
    person = (await read_people(runtime, user))["ann@lee.example"]
    assert (person["name"], person["phone"], person["company"], person["tags"], person["notes"]) == (
        "Ann Li",
        None,
        None,
        [],
        None,
    )

    await book(email="ann@lee.example", name="Ann Li")
    question = (await member.get(f"{path}/delete")).text
    assert "1 upcoming meeting stays booked. No one is notified." in question
    assert len(await read_people(runtime, user)) == 1
    gone = await member.post(f"{path}/delete")
    assert read_page(await member.get(gone.headers["location"])).notices == ["The contact was deleted."]
    assert await read_people(runtime, user) == {}
    assert await runtime.pool.fetchval("select status from bookings") == "CONFIRMED"


FAULTS: list[tuple[dict[str, str], str]] = [
    ({"name": ""}, "Enter a name"),
    ({"name": "x" * 201}, "Must have at most 200 characters"),
    ({"email": ""}, "Enter an email address"),
    ({"email": "nobody"}, "Is not a valid email address"),
    ({"email": "NOOR@haddad.example"}, "Is taken"),
    ({"phone": "030 123"}, "Must begin with + and the country code"),
    ({"company": "x" * 201}, "Must have at most 200 characters"),
    ({"notes": "x" * 5001}, "Must have at most 5000 characters"),
    ({"tags": ",".join(f"t{n}" for n in range(21))}, "Must have at most 20 tags"),
    ({"tags": "x" * 51}, "Must have at most 50 characters"),
    ({"tags": '"a'}, "Has characters that are not allowed"),
]


async def test_all_faults_are_shown_at_once(member: httpx2.AsyncClient) -> None:
    answer = await member.post("/contacts", data={**FORM, "email": "nobody", "tags": '"a'})

    assert read_page(answer).faults["email"] == "Is not a valid email address"
    assert read_page(answer).faults["tags"] == "Has characters that are not allowed"


async def test_every_fault_stands_at_its_field_and_nothing_is_changed(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, add: Add
) -> None:
    await add()
    contact = await add("Bo", "bo@x.example")
    before = await read_people(runtime, user)
    for changes, fault in FAULTS:
        field = next(iter(changes))
        for path in ("/contacts", f"/contacts/{contact.id}/edit"):
            answer = await member.post(path, data={**FORM, "company": "Typed & kept", **changes})

            assert answer.status_code == 400, (changes, fault)
            assert read_page(answer).faults[field].startswith(fault), (changes, fault)
            assert field == "company" or read_page(answer).fields["company"].value == "Typed & kept", (changes, fault)
        assert await read_people(runtime, user) == before, (changes, fault)


async def test_the_file_has_what_was_searched_and_no_formulas(member: httpx2.AsyncClient, add: Add) -> None:
    await add("=HYPERLINK(1)", "noor@haddad.example", phone=PHONE, company="@Haddad", notes="-1", tags=("+x", "a, b"))
    await add("Li", "li@x.example")
    answer = await member.get("/contacts/export.csv?q=haddad")
    rows = list(csv.reader(StringIO(answer.text.removeprefix("\ufeff"))))

    assert answer.text.startswith("\ufeff")
    assert answer.headers["content-disposition"] == "attachment; filename=contacts-2026-03-16.csv"
    assert rows[0] == ["Name", "Email address", "Phone number", "Company", "Notes", "Tags", "Added on"]
    assert rows[1:] == [
        ["'=HYPERLINK(1)", "noor@haddad.example", f"'{PHONE}", "'@Haddad", "'-1", '\'+x,"a, b"', "2026-03-16"]
    ]


async def test_a_large_file_comes_in_parts(
    member: httpx2.AsyncClient, add: Add, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contacts, "MAX_ROWS", 2)
    for n in range(3):
        await add(f"P{n}", f"p{n}@x.example")
    text = (await member.get("/contacts?q=x.example")).text
    first, second = [(await member.get(f"/contacts/export.csv?part={n}")).text for n in (1, 2)]

    assert "/contacts/export.csv?q=x.example&amp;part=2" in text
    assert [f"p{n}@" in first for n in range(3)] == [False, True, True]
    assert [f"p{n}@" in second for n in range(3)] == [True, False, False]


async def test_an_exported_file_can_be_imported_and_changes_nothing(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, add: Add, bring: Import
) -> None:
    await add("=Noor", "noor@haddad.example", phone=PHONE, company="'+x", notes="-\nb", tags=("-x", 'q"', "a, b"))
    await add("Li", "li@x.example")
    before = await read_people(runtime, user)
    for language in ("en", "de", "fr", "es", "pt", "ja", "ar"):
        file = (await member.get("/contacts/export.csv", headers={"accept-language": language})).text
        page = await member.get(await bring(file.removeprefix("\ufeff")))

        assert "".join(page.text.split()).count("<dd>0</dd>") == 3, language
        assert "<dt>Unchanged</dt><dd>2</dd>" in page.text, language
        assert await read_people(runtime, user) == before, language
        assert (await runtime.pool.fetchval("select updated_at from contacts limit 1")) == MONDAY, language


async def test_the_command_does_the_same(member: httpx2.AsyncClient, add: Add) -> None:
    contact = await add()
    commands = {
        "/contacts?q=noor": "/api/v1/contacts?search=noor&amp;page=1&amp;limit=25",
        "/contacts/new": "curl -X POST",
        f"/contacts/{contact.id}": f"/api/v1/contacts/{contact.id}",
        f"/contacts/{contact.id}/edit": f"curl -X PATCH http://127.0.0.1:8000/api/v1/contacts/{contact.id}",
        f"/contacts/{contact.id}/delete": f"curl -X DELETE http://127.0.0.1:8000/api/v1/contacts/{contact.id}",
    }
    for path, command in commands.items():
        assert command in (await member.get(path)).text
