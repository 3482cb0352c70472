"""Contacts over HTTP."""

import json
from datetime import datetime
from typing import Any

from openslot.domains.accounts.models import User
from openslot.platform.core.ids import new_id
from tests.domains.contacts.conftest import Add, Book, Events, Rest

NOOR = {
    "name": "Noor Haddad",
    "email": "Noor@Haddad.example",
    "phone": "+49 30 1234 5678",
    "company": "Haddad Design",
    "notes": "Prefers mornings.\nSpeaks Arabic.",
    "tags": ["vip", " vip ", "design"],
}
WRONG_PARAMETERS = [
    {"page": "0"},
    {"limit": "0"},
    {"limit": "101"},
    {"page": "x"},
    {"search": "a\x00b"},
    {"search": "a\nb"},
    {"search": "x" * 255},
    {"page": "0", "limit": "500", "search": "\x1f"},
]
HOSTILE_BODIES: list[tuple[Any, set[str]]] = [
    ({}, {"name", "email"}),
    ({**NOOR, "name": "a\x00b"}, {"name"}),
    ({**NOOR, "name": "two\nlines"}, {"name"}),
    ({**NOOR, "name": "x" * 201}, {"name"}),
    ({**NOOR, "name": ""}, {"name"}),
    ({**NOOR, "name": " "}, {"name"}),
    ({**NOOR, "email": "no"}, {"email"}),
    ({**NOOR, "email": "x" * 250 + "@x.example"}, {"email"}),
    ({**NOOR, "email": 5, "phone": [], "company": {}, "notes": True, "tags": "vip"}, {*NOOR} - {"name"}),
    ({**NOOR, "phone": "030 1234"}, {"phone"}),
    ({**NOOR, "company": "x" * 201, "notes": "x" * 5001}, {"company", "notes"}),
    ({**NOOR, "notes": "bell \x07"}, {"notes"}),
    ({**NOOR, "meetingCount": 5, "id": "x"}, {"meetingCount", "id"}),
    ([], {"body"}),
    *(({**NOOR, "tags": tags}, {"tags"}) for tags in (["x"] * 21, ["x" * 51], [""], [" "], [5], ["a\nb"], [None])),
]
SHOWN = {"id", "name", "email", "phone", "company", "notes", "tags", "meetingCount", "createdAt", "updatedAt"}


async def test_a_contact_is_added_and_read_back(rest: Rest, events: Events, user: User) -> None:
    made = await rest("POST", json=NOOR)

    assert made.status_code == 201, made.text
    body = made.json()
    assert set(body) == SHOWN | {"upcomingMeetings", "pastMeetings"}
    assert {**body, "id": 0, "createdAt": 0, "updatedAt": 0} == {
        **NOOR,
        "phone": "+493012345678",
        "tags": ["vip", "design"],
        "id": 0,
        "createdAt": 0,
        "updatedAt": 0,
        "meetingCount": 0,
        "upcomingMeetings": [],
        "pastMeetings": [],
    }
    assert (await rest("GET", f"/{body['id']}")).json() == body
    (event,) = await events()
    assert (event["type"], event["tenant_id"], event["subject_kind"]) == ("contact.created", user.id, "contact")
    assert str(event["subject_id"]) == body["id"]


async def test_the_event_tells_the_contact_as_reading_it_does(rest: Rest, events: Events) -> None:
    made = await rest("POST", json=NOOR)

    (event,) = await events()
    assert json.loads(event["public"]) == made.json()


async def test_name_and_address_are_enough(rest: Rest) -> None:
    made = await rest("POST", json={"name": "Ida", "email": "ida@x.example"})

    assert made.status_code == 201
    assert [made.json()[field] for field in ("phone", "company", "notes", "tags")] == [None, None, None, []]


async def test_a_known_address_is_refused_in_any_letter_case(rest: Rest, add: Add, events: Events) -> None:
    await add(email="noor@haddad.example")

    again = await rest("POST", json={**NOOR, "email": "NOOR@HADDAD.EXAMPLE"})

    assert again.status_code == 409
    assert again.json() == {
        "error": "Another of your contacts has this email address",
        "details": {"email": "is taken"},
    }
    assert again.headers["x-error-code"] == "contact_email_already_exists"
    assert len(await events()) == 1


async def test_two_owners_may_know_the_same_person(rest: Rest, strange_rest: Rest) -> None:
    assert (await rest("POST", json=NOOR)).status_code == 201
    assert (await strange_rest("POST", json=NOOR)).status_code == 201


async def test_contacts_are_listed_newest_first_with_their_count(rest: Rest, add: Add, book: Book) -> None:
    for n in range(3):
        contact = await add(name=f"Person {n}", email=f"p{n}@x.example")
    await book(contact, hours=5)

    first = (await rest("GET", params={"limit": 2})).json()
    last = (await rest("GET", params={"limit": 2, "page": 2})).json()

    assert [each["name"] for each in first["data"] + last["data"]] == ["Person 2", "Person 1", "Person 0"]
    assert [each["meetingCount"] for each in first["data"]] == [1, 0]
    assert set(first["data"][0]) == SHOWN
    assert first["pagination"] == {"page": 1, "limit": 2, "total": 3, "totalPages": 2}


async def test_a_page_past_the_end_is_empty_with_true_totals(rest: Rest, add: Add) -> None:
    await add(name="Person", email="p@x.example")
    pagination = {"page": 1_000_000, "limit": 20, "total": 1, "totalPages": 1}

    for search in ("", "e", "person"):
        answer = await rest("GET", params={"page": 1_000_000, "search": search})
        assert answer.json() == {"data": [], "pagination": pagination}, search


async def test_nothing_has_no_pages(rest: Rest) -> None:
    answer = await rest("GET")

    assert answer.json() == {"data": [], "pagination": {"page": 1, "limit": 20, "total": 0, "totalPages": 0}}


async def test_wrong_parameters_are_all_named(rest: Rest) -> None:
    for wrong in WRONG_PARAMETERS:
        answer = await rest("GET", params=wrong)
        assert answer.status_code == 400, wrong
        assert set(answer.json()["details"]) == set(wrong), wrong


async def test_a_change_leaves_what_is_not_named(rest: Rest) -> None:
    made = (await rest("POST", json=NOOR)).json()

    changed = await rest("PATCH", f"/{made['id']}", json={"company": "Haddad & Co"})

    assert changed.status_code == 200
    body = changed.json()
    assert {**body, "updatedAt": 0} == {**made, "company": "Haddad & Co", "updatedAt": 0}
    assert datetime.fromisoformat(body["updatedAt"]) > datetime.fromisoformat(made["updatedAt"])
    assert (await rest("GET", f"/{made['id']}")).json() == body


async def test_null_clears_what_may_be_empty(rest: Rest) -> None:
    made = (await rest("POST", json=NOOR)).json()

    changed = await rest("PATCH", f"/{made['id']}", json={"phone": None, "company": None, "notes": None, "tags": None})

    assert [changed.json()[field] for field in ("phone", "company", "notes", "tags")] == [None, None, None, []]
    assert changed.json()["name"] == made["name"]


async def test_name_and_address_can_not_be_cleared(rest: Rest) -> None:
    made = (await rest("POST", json=NOOR)).json()

    refused = await rest("PATCH", f"/{made['id']}", json={"name": None, "email": None})

    assert refused.status_code == 400
    assert set(refused.json()["details"]) == {"name", "email"}
    assert (await rest("GET", f"/{made['id']}")).json() == made


async def test_the_same_change_twice_changes_nothing_more(rest: Rest) -> None:
    made = (await rest("POST", json=NOOR)).json()

    for change in ({"email": made["email"]}, {"tags": ["vip", "design"]}, {}):
        again = await rest("PATCH", f"/{made['id']}", json=change)
        assert (again.status_code, again.json()) == (200, made)


async def test_the_own_address_may_change_its_letter_case(rest: Rest) -> None:
    made = (await rest("POST", json=NOOR)).json()

    changed = await rest("PATCH", f"/{made['id']}", json={"email": "noor@haddad.example"})

    assert (changed.status_code, changed.json()["email"]) == (200, "noor@haddad.example")


async def test_anothers_address_is_refused_and_nothing_changes(rest: Rest, add: Add) -> None:
    await add(email="ida@x.example", name="Ida")
    made = (await rest("POST", json=NOOR)).json()

    refused = await rest("PATCH", f"/{made['id']}", json={"email": "IDA@x.example", "name": "Changed"})

    assert refused.status_code == 409
    assert refused.json()["details"] == {"email": "is taken"}
    assert (await rest("GET", f"/{made['id']}")).json() == made


async def test_a_changed_contact_is_found_by_what_it_is_now(rest: Rest) -> None:
    made = (await rest("POST", json=NOOR)).json()
    await rest("PATCH", f"/{made['id']}", json={"name": "Zelda Quist"})

    assert (await rest("GET", params={"search": "quist"})).json()["pagination"]["total"] == 1
    assert (await rest("GET", params={"search": "noor had"})).json()["pagination"]["total"] == 0


async def test_a_deleted_contact_is_gone_for_good(rest: Rest) -> None:
    made = (await rest("POST", json=NOOR)).json()

    gone = await rest("DELETE", f"/{made['id']}")

    assert (gone.status_code, gone.json()) == (200, {"success": True})
    for method in ("GET", "DELETE"):
        assert (await rest(method, f"/{made['id']}")).status_code == 404
    assert (await rest("POST", json=NOOR)).status_code == 201


async def test_anothers_contact_looks_like_none(strange_rest: Rest, add: Add, rest: Rest) -> None:
    contact = await add()

    asked: tuple[tuple[str, dict[str, str] | None, int], ...] = (
        ("GET", None, 404),
        ("PATCH", {"name": "Mine now"}, 404),
        ("PATCH", {"email": "x"}, 400),
        ("DELETE", None, 404),
    )
    for method, body, status in asked:
        foreign = await strange_rest(method, f"/{contact.id}", json=body)
        unknown = await strange_rest(method, f"/{new_id()}", json=body)
        assert foreign.status_code == status, method
        assert foreign.content == unknown.content, method
        assert _headers(foreign) == _headers(unknown), method
    assert (await rest("GET", f"/{contact.id}")).json()["name"] == contact.name


async def test_anothers_contacts_are_neither_listed_nor_found(strange_rest: Rest, add: Add) -> None:
    await add()

    for search in ("", "o", "noor haddad"):
        assert (await strange_rest("GET", params={"search": search})).json()["pagination"]["total"] == 0


async def test_what_is_no_id_names_nothing(rest: Rest) -> None:
    for path in ("/1", "/not-an-id", "/%00", "/" + "a" * 36, "/..%2f..%2fetc"):
        for method in ("GET", "DELETE"):
            assert (await rest(method, path)).status_code == 404, path


async def test_hostile_bodies_are_refused_field_by_field(rest: Rest) -> None:
    for body, wrong in HOSTILE_BODIES:
        refused = await rest("POST", json=body)
        assert refused.status_code == 400, body
        assert {field.partition(".")[0] for field in refused.json()["details"]} == wrong, body
    assert (await rest("GET")).json()["pagination"]["total"] == 0


async def test_names_from_everywhere_come_back_as_they_were(rest: Rest) -> None:
    names = ["👩🏽‍💻 Ada", "שלום \u202eevil\u202c", "'; drop table contacts; --", "王小明", "<b>Bold</b>", "x" * 200]
    for place, name in enumerate(names):
        made = await rest("POST", json={"name": name, "email": f"{place}@x.example"})
        assert (made.status_code, made.json()["name"]) == (201, name)
        assert (await rest("GET", params={"search": name})).json()["data"][0]["id"] == made.json()["id"]


def _headers(answer: Any) -> dict[str, str]:
    own = {"x-request-id", "date", "ratelimit-remaining", "ratelimit-reset"}
    return {name: value for name, value in answer.headers.items() if name not in own}
