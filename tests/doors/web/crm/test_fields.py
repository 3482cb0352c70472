"""The page that says which property of a contact gets what: read from the portal, checked there, refused at fields."""

import json
from uuid import uuid4

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.crm.models import CrmConnection
from openslot.domains.event_types.models import Question
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.fake_hubspot import FakeHubSpot
from tests.support.host import Book, open_session
from tests.support.page import Page, read_page

DEFAULTS = {"first_name": "firstname", "last_name": "lastname", "phone": "phone", "company": "", "moved": "SCHEDULED"}


def path_of(connection: CrmConnection) -> str:
    return f"/settings/crm/{connection.id}/fields"


async def open_page(member: httpx2.AsyncClient, connection: CrmConnection) -> Page:
    answer = await member.get(path_of(connection))
    assert answer.status_code == 200, answer.text
    return read_page(answer)


async def read_options(runtime: Runtime) -> object:
    return json.loads(await runtime.pool.fetchval("select options from crm_connections"))


async def ask_questions(runtime: Runtime, user: User) -> None:
    questions = (Question("topic", "What about?"), Question("budget", "Which budget?"))
    await offer(runtime, user, "asking", questions=questions)
    await offer(runtime, user, "more", questions=(Question("topic", "Topic"),))


async def test_at_first_names_and_phone_are_chosen(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, connection: CrmConnection
) -> None:
    page = await open_page(member, connection)

    assert {name: page.fields[name].value for name in DEFAULTS} == DEFAULTS
    assert "Your event types have no questions." in page.text


async def test_the_properties_of_the_portal_are_offered_and_those_chosen_are_named(
    member: httpx2.AsyncClient, connection: CrmConnection
) -> None:
    text = (await member.get(path_of(connection))).text

    assert '<option value="jobtitle">Job Title</option>' in text
    assert "lifecyclestage" not in text
    assert ">First Name</p>" in text


async def test_what_is_chosen_is_written_with_the_next_booking(
    member: httpx2.AsyncClient,
    runtime: Runtime,
    clock: MovingClock,
    user: User,
    connection: CrmConnection,
    hubspot: FakeHubSpot,
    book: Book,
) -> None:
    await ask_questions(runtime, user)
    page = await open_page(member, connection)
    keys = {page.fields[f"answers.{number}.key"].value: number for number in range(2)}
    assert keys.keys() == {"topic", "budget"}
    form = DEFAULTS | {"company": "company", "phone": "", "moved": "RESCHEDULED"}
    for key, number in keys.items():
        form |= {f"answers.{number}.key": key, f"answers.{number}.property": "message" if key == "topic" else ""}

    answer = await member.post(path_of(connection), data=form)

    assert answer.headers["location"] == f"{path_of(connection)}?done=saved"
    assert await read_options(runtime) == {
        "first_name": "firstname",
        "last_name": "lastname",
        "phone": "",
        "company": "company",
        "answers": {"topic": "message"},
        "moved": "RESCHEDULED",
    }
    page = await open_page(member, connection)
    assert page.fields[f"answers.{keys['topic']}.property"].value == "message"
    await runtime.pool.execute("update event_types set slug = 'old' where slug = '30min'")
    await runtime.pool.execute("update event_types set slug = '30min' where slug = 'asking'")
    await book(answers={"topic": "A new roof"})
    await work_off(runtime, clock)
    assert hubspot.portal.contacts[0]["message"] == "A new roof"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("shoe_size", "is not a property of contacts that takes text"),
        ("lifecyclestage", "is not a property of contacts that takes text"),
        ("hs_calculated_phone_number", "is not a property of contacts that takes text"),
        ("email", "is not a property of contacts that takes text"),
        ("lastname", "is chosen for another field already"),
        ("x" * 101, "must have at most 100 characters"),
    ],
)
async def test_a_property_that_can_not_be_chosen_is_refused_at_its_field(
    member: httpx2.AsyncClient, runtime: Runtime, connection: CrmConnection, name: str, said: str
) -> None:
    answer = await member.post(path_of(connection), data=DEFAULTS | {"company": name})

    assert answer.status_code == 400
    page = read_page(answer)
    assert said in page.faults["company"].lower()
    assert page.fields["company"].value == name
    assert await read_options(runtime) == {}


async def test_a_property_for_an_answer_is_refused_at_its_question(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, connection: CrmConnection
) -> None:
    await ask_questions(runtime, user)
    answers = {"answers.0.key": "topic", "answers.0.property": "message"}
    answers |= {"answers.1.key": "budget", "answers.1.property": "wrong"}

    answer = await member.post(path_of(connection), data=DEFAULTS | answers)

    assert list(read_page(answer).faults) == ["answers.1.property"]


async def test_a_portal_that_does_not_answer_keeps_the_choices_and_says_so(
    member: httpx2.AsyncClient, runtime: Runtime, connection: CrmConnection, hubspot: FakeHubSpot
) -> None:
    hubspot.is_down = True

    page = await open_page(member, connection)
    answer = await member.post(path_of(connection), data=DEFAULTS | {"company": "company"})

    assert any("could not be read" in each for each in page.notices)
    assert page.fields["first_name"].value == "firstname"
    assert answer.status_code == 400
    assert answer.text.count("could not be read from HubSpot") == 1
    assert await read_options(runtime) == {}


async def test_what_the_portal_has_refused_is_at_the_field_and_on_the_booking(
    member: httpx2.AsyncClient,
    runtime: Runtime,
    clock: MovingClock,
    connection: CrmConnection,
    hubspot: FakeHubSpot,
    book: Book,
) -> None:
    hubspot.portal.allow_only("contacts", "firstname", "[a-z]+", "Enter only lower-case letters")
    hubspot.portal.require("contacts", "jobtitle")
    booking = await book()
    await work_off(runtime, clock)

    answer = await member.get(path_of(connection))

    assert answer.status_code == 200
    assert (
        'id="refusal-first_name">HubSpot has refused a booking: <bdi>Enter only lower-case letters</bdi>' in answer.text
    )
    assert "Job Title is required (jobtitle)" in answer.text
    shown = (await member.get(f"/bookings/{booking.id}")).text
    assert "Enter only lower-case letters (firstname); Job Title is required (jobtitle)" in shown


async def test_the_page_is_the_owners_alone_and_only_hubspot_has_one(
    client: httpx2.AsyncClient, runtime: Runtime, stranger: User, connection: CrmConnection
) -> None:
    client.headers.update(await open_session(runtime, stranger))

    assert (await client.get(path_of(connection))).status_code == 404
    assert (await client.post(path_of(connection), data=DEFAULTS)).status_code == 404
    assert (await client.get(f"/settings/crm/{uuid4()}/fields")).status_code == 404


async def test_another_crm_has_no_such_page(
    member: httpx2.AsyncClient, runtime: Runtime, connection: CrmConnection
) -> None:
    await runtime.pool.execute("update crm_connections set vendor = 'webhook'")

    assert (await member.get(path_of(connection))).status_code == 404
    assert (await member.post(path_of(connection), data=DEFAULTS)).status_code == 404
