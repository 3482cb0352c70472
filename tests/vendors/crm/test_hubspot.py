"""What HubSpot is asked, what it is never asked, and what its refusals mean."""

import json
from datetime import timedelta

import pytest
from msgspec.structs import replace

from openslot.domains.crm.models import MeetingOutcome
from openslot.domains.crm.ports import CrmBusy, CrmCredentials, CrmRefused, CrmTokenRefused, CrmUnavailable
from openslot.platform.core.config import Settings
from openslot.platform.core.outbound import Outbound
from openslot.vendors.hubspot.vendor import INDEXED_WITHIN, HubSpot, HubSpotVendor
from tests.contracts.crm_servers import BOOKING, HOUR, MEETING, NINE, PERSON
from tests.support.clocks import MovingClock
from tests.support.fake_hubspot import READ, SCHEMAS, WRITE, FakeHubSpot, Fault, FaultKind
from tests.support.fake_hubspot.portal import OWNERS, Portal
from tests.vendors.crm.conftest import Open


def pass_time(fake: FakeHubSpot, waited: timedelta) -> None:
    assert isinstance(fake.clock, MovingClock)
    fake.clock.now += waited


def list_writes(fake: FakeHubSpot) -> list[tuple[str, str]]:
    """List what was asked for that changes contacts and meetings."""
    return [
        (each.method, each.path.removeprefix("/crm/objects/2026-09/"))
        for each in fake.asked
        if each.method != "GET" and "/objects/" in each.path and not each.path.endswith("/search")
    ]


def add_contact(portal: Portal, **properties: str) -> str:
    return portal.create("contacts", {"email": PERSON.email, **properties}).id


async def log(hubspot: HubSpot) -> str:
    person_id = await hubspot.upsert_person(PERSON, key="1.person")
    return await hubspot.log_meeting(MEETING, person_id=person_id, key="1.meeting")


async def test_a_person_that_is_new_gets_what_is_mapped_and_nothing_else(fake: FakeHubSpot, open_hubspot: Open) -> None:
    hubspot = open_hubspot(company="company", answers={"budget": "message", "other": "jobtitle"})

    await hubspot.upsert_person(PERSON, key="1.person")

    assert fake.portal.contacts == [
        {
            "email": "jonas@okafor.example",
            "firstname": "Jonas",
            "lastname": "Okafor",
            "phone": "+4915112345678",
            "company": "Okafor & Sons",
            "message": "10,000",
        }
    ]


async def test_without_choices_of_the_owner_neither_company_nor_answers_are_written(
    fake: FakeHubSpot, open_hubspot: Open
) -> None:
    await open_hubspot().upsert_person(PERSON, key="1.person")

    assert fake.portal.contacts[0].keys() == {"email", "firstname", "lastname", "phone"}


async def test_only_what_is_empty_is_filled_in(fake: FakeHubSpot, open_hubspot: Open) -> None:
    add_contact(fake.portal, firstname="Dr. Jonas", phone="+1 555 0100", lifecyclestage="customer")
    before = len(fake.asked)

    await open_hubspot(company="company").upsert_person(PERSON, key="1.person")

    assert fake.portal.contacts == [
        {
            "email": "jonas@okafor.example",
            "firstname": "Dr. Jonas",
            "phone": "+1 555 0100",
            "lifecyclestage": "customer",
            "lastname": "Okafor",
            "company": "Okafor & Sons",
        }
    ]
    (sent,) = [each for each in fake.asked[before:] if each.method == "PATCH"]
    assert json.loads(sent.body)["properties"].keys() == {"lastname", "company"}


async def test_a_contact_that_has_everything_is_not_written(fake: FakeHubSpot, open_hubspot: Open) -> None:
    add_contact(fake.portal, firstname="J", lastname="O", phone="1")

    await open_hubspot().upsert_person(replace(PERSON, email="JONAS@okafor.example"), key="1.person")

    assert list_writes(fake) == []


async def test_of_two_values_for_one_property_the_first_is_written(fake: FakeHubSpot, open_hubspot: Open) -> None:
    await open_hubspot(answers={"budget": "firstname"}).upsert_person(PERSON, key="1.person")

    assert fake.portal.contacts[0]["firstname"] == "Jonas"


async def test_all_paths_are_of_one_dated_version(fake: FakeHubSpot, open_hubspot: Open) -> None:
    hubspot = open_hubspot()
    await hubspot.check()
    await hubspot.list_properties()
    await hubspot.change_meeting(await log(hubspot), MEETING, key="2.meeting")

    assert [each.path for each in fake.asked if "/2026-09" not in each.path] == []


async def test_a_check_changes_nothing(fake: FakeHubSpot, open_hubspot: Open) -> None:
    account = await open_hubspot().check()

    assert (account.account, account.label) == ("145911", "HubSpot 145911")
    assert (fake.portal.contacts, fake.portal.meetings) == ([], [])
    assert "openslot_booking" not in fake.portal.definitions["meetings"]


@pytest.mark.parametrize("scope", [READ, WRITE])
async def test_a_check_names_the_scope_that_is_missing(fake: FakeHubSpot, open_hubspot: Open, scope: str) -> None:
    fake.portal.scopes.remove(scope)

    with pytest.raises(CrmRefused, match=scope):
        await open_hubspot().check()


async def test_a_token_that_may_not_ask_for_the_account_has_a_name_of_its_own(
    fake: FakeHubSpot, open_hubspot: Open
) -> None:
    fake.faults.append(Fault(FaultKind.STATUS, "/account-info/", status=403))

    account = await open_hubspot().check()

    assert account.label == "HubSpot"
    assert len(account.account) == 16


async def test_a_meeting_has_the_page_of_the_booking_and_its_text_is_no_html(
    fake: FakeHubSpot, open_hubspot: Open
) -> None:
    hubspot = open_hubspot()
    person_id = await hubspot.upsert_person(PERSON, key="1.person")
    asked = replace(MEETING, notes="<script>\nTwo lines", answers={"Budget & more?": "<b>10</b>"})

    await hubspot.log_meeting(asked, person_id=person_id, key="1.meeting")

    assert fake.portal.meetings == [
        {
            "openslot_booking": str(BOOKING),
            "hs_meeting_title": "Intro: Jonas Okafor",
            "hs_meeting_body": "&lt;script&gt;<br>Two lines<br>Budget &amp; more?: &lt;b&gt;10&lt;/b&gt;",
            "hs_meeting_external_url": f"https://openslot.example/bookings/{BOOKING}",
            "hs_timestamp": "2026-03-16T09:00:00Z",
            "hs_meeting_start_time": "2026-03-16T09:00:00Z",
            "hs_meeting_end_time": "2026-03-16T10:00:00Z",
            "hs_meeting_location": "Room 4",
            "hs_meeting_outcome": "SCHEDULED",
        }
    ]


async def test_the_host_is_the_owner_of_the_meeting_if_the_portal_knows_the_host(
    fake: FakeHubSpot, open_hubspot: Open
) -> None:
    fake.portal.owners["Mara@openslot.example"] = "77"

    await log(open_hubspot())

    assert fake.portal.meetings[0]["hubspot_owner_id"] == "77"


async def test_without_the_scope_for_owners_a_meeting_has_none(fake: FakeHubSpot, open_hubspot: Open) -> None:
    fake.portal.owners["mara@openslot.example"] = "77"
    fake.portal.scopes.remove(OWNERS)

    await log(open_hubspot())

    assert "hubspot_owner_id" not in fake.portal.meetings[0]


async def test_the_unique_property_is_created_once(fake: FakeHubSpot, open_hubspot: Open) -> None:
    for _ in range(2):
        await log(open_hubspot())

    created = [each for each in fake.asked if each.method == "POST" and "/properties/" in each.path]
    assert len(created) == 1
    assert fake.portal.definitions["meetings"]["openslot_booking"]["hasUniqueValue"]
    assert len(fake.portal.meetings) == 1


async def test_a_property_of_this_name_that_is_not_unique_is_not_relied_on(
    fake: FakeHubSpot, open_hubspot: Open
) -> None:
    fake.portal.add_property("meetings", "openslot_booking", "Openslot booking", groupName="meeting")

    await log(open_hubspot())

    assert ("POST", "meetings") in list_writes(fake)


async def test_with_the_property_a_lost_answer_leaves_one_meeting_at_once(
    fake: FakeHubSpot, open_hubspot: Open
) -> None:
    fake.lose_next("meetings")
    with pytest.raises(CrmUnavailable) as lost:
        await log(open_hubspot())

    await log(open_hubspot())

    assert lost.value.after is None
    assert len(fake.portal.meetings) == len(fake.portal.associations) == 1


async def test_without_the_property_a_lost_answer_leaves_one_meeting_after_the_wait(
    fake: FakeHubSpot, open_hubspot: Open
) -> None:
    fake.portal.scopes.remove(SCHEMAS)
    fake.lose_next("meetings")
    with pytest.raises(CrmUnavailable) as lost:
        await log(open_hubspot())

    assert lost.value.after == INDEXED_WITHIN > fake.portal.index_lags
    pass_time(fake, lost.value.after)
    await log(open_hubspot())

    assert len(fake.portal.meetings) == len(fake.portal.associations) == 1


@pytest.mark.parametrize("scopes", [{SCHEMAS}, set()], ids=["property", "search"])
async def test_a_meeting_whose_person_was_not_linked_is_linked_in_the_next_try(
    fake: FakeHubSpot, open_hubspot: Open, scopes: set[str]
) -> None:
    fake.portal.scopes -= {SCHEMAS} - scopes
    fake.faults.append(Fault(FaultKind.HANG_UP, method="PUT"))
    with pytest.raises(CrmUnavailable):
        await log(open_hubspot())
    pass_time(fake, INDEXED_WITHIN)

    await log(open_hubspot())

    assert len(fake.portal.meetings) == len(fake.portal.associations) == 1


@pytest.mark.parametrize(
    ("chosen", "outcome"), [({}, "SCHEDULED"), ({"moved": "RESCHEDULED"}, "RESCHEDULED")], ids=["scheduled", "moved"]
)
async def test_the_outcome_of_a_meeting_that_was_moved_is_the_owners_choice(
    fake: FakeHubSpot, open_hubspot: Open, chosen: dict[str, str], outcome: str
) -> None:
    hubspot = open_hubspot(**chosen)
    moved = replace(
        MEETING, starts_at=NINE + HOUR, ends_at=NINE + 2 * HOUR, outcome=MeetingOutcome.RESCHEDULED, location="Room 5"
    )

    await hubspot.change_meeting(await log(hubspot), moved, key="2.meeting")

    (meeting,) = fake.portal.meetings
    assert meeting["hs_meeting_outcome"] == outcome
    assert meeting["hs_timestamp"] == meeting["hs_meeting_start_time"] == "2026-03-16T10:00:00Z"
    assert meeting["hs_meeting_location"] == "Room 5"


async def test_what_somebody_has_written_into_a_meeting_stays(fake: FakeHubSpot, open_hubspot: Open) -> None:
    hubspot = open_hubspot()
    meeting_id = await log(hubspot)
    edited = {
        "hs_meeting_title": "First call",
        "hs_meeting_body": "Went well",
        "hs_internal_meeting_notes": "Call back",
    }
    fake.portal.update("meetings", fake.portal.records["meetings"][meeting_id], edited)

    await hubspot.change_meeting(meeting_id, replace(MEETING, outcome=MeetingOutcome.CANCELLED), key="2.meeting")

    assert fake.portal.meetings[0].items() >= {**edited, "hs_meeting_outcome": "CANCELED"}.items()


@pytest.mark.parametrize("told_apart", [True, False], ids=["207", "400"])
async def test_a_required_property_of_contacts_is_named(
    fake: FakeHubSpot, open_hubspot: Open, *, told_apart: bool
) -> None:
    fake.portal.require("contacts", "company")
    fake.portal.tells_batch_errors_apart = told_apart

    with pytest.raises(CrmRefused, match=r"^Company Name is required \(company\)$"):
        await open_hubspot().upsert_person(PERSON, key="1.person")


async def test_a_rule_that_only_a_cancellation_breaks_is_told_then(fake: FakeHubSpot, open_hubspot: Open) -> None:
    fake.portal.require("meetings", "hs_internal_meeting_notes", when=("hs_meeting_outcome", "CANCELED"))
    hubspot = open_hubspot()
    meeting_id = await log(hubspot)

    with pytest.raises(CrmRefused, match=r"Internal meeting notes is required \(hs_internal_meeting_notes\)"):
        await hubspot.change_meeting(meeting_id, replace(MEETING, outcome=MeetingOutcome.CANCELLED), key="2.meeting")


async def test_a_property_that_is_gone_is_named(open_hubspot: Open) -> None:
    with pytest.raises(CrmRefused, match=r'Property "shoe_size" does not exist \(shoe_size\)'):
        await open_hubspot(answers={"budget": "shoe_size"}).upsert_person(PERSON, key="1.person")


async def test_what_is_said_of_a_refusal_does_not_repeat_what_was_sent(fake: FakeHubSpot, open_hubspot: Open) -> None:
    fake.portal.allow_only("contacts", "firstname", "[a-z]+", "Jonas is not lower case, nor is Okafor")

    with pytest.raises(CrmRefused) as refused:
        await open_hubspot().upsert_person(PERSON, key="1.person")

    assert str(refused.value) == "… is not lower case, nor is … (firstname)"


async def test_an_old_form_of_a_refusal_is_read_too(fake: FakeHubSpot, open_hubspot: Open) -> None:
    said = [{"isValid": False, "message": "Enter only letters", "error": "INVALID_ALPHA", "name": "firstname"}]
    body = {"message": f"Property values were not valid: {json.dumps(said)}", "category": "VALIDATION_ERROR"}
    fake.faults.append(Fault(FaultKind.STATUS, method="POST", status=400, body=json.dumps(body).encode()))

    with pytest.raises(CrmRefused, match=r"^Enter only letters \(firstname\)$"):
        await open_hubspot().upsert_person(PERSON, key="1.person")


async def test_too_many_requests_in_ten_seconds_and_in_a_day(fake: FakeHubSpot, open_hubspot: Open) -> None:
    hubspot = open_hubspot()
    fake.most_in_ten_seconds = 0
    with pytest.raises(CrmBusy) as told:
        await hubspot.upsert_person(PERSON, key="1.person")
    assert told.value.after == timedelta(seconds=10)

    fake.most_in_a_day = 0
    with pytest.raises(CrmBusy) as told:
        await hubspot.upsert_person(PERSON, key="1.person")
    assert told.value.after == timedelta(hours=1)


async def test_too_many_searches_are_no_reason_to_create_a_meeting(fake: FakeHubSpot, open_hubspot: Open) -> None:
    fake.portal.scopes.remove(SCHEMAS)
    fake.most_searches_a_second = 0

    with pytest.raises(CrmBusy):
        await log(open_hubspot())

    assert fake.portal.meetings == []


async def test_an_answer_that_can_not_be_read_may_be_another_one_later(fake: FakeHubSpot, open_hubspot: Open) -> None:
    fake.faults.append(Fault(FaultKind.RAW, status=200, body=b"<html>"))

    with pytest.raises(CrmUnavailable, match="can't be read"):
        await open_hubspot().upsert_person(PERSON, key="1.person")


async def test_properties_that_take_no_text_are_not_offered(open_hubspot: Open) -> None:
    offered = [each.name for each in await open_hubspot().list_properties()]

    assert offered == ["company", "firstname", "jobtitle", "lastname", "message", "phone"]


@pytest.mark.parametrize("token", ["", "a token", "tokén", "x" * 201, "a\nb"])
def test_what_can_not_be_a_token_is_refused_before_it_is_sent(token: str) -> None:
    with pytest.raises(CrmTokenRefused):
        HubSpotVendor().open(Outbound(), Settings(), CrmCredentials(secret=token))
