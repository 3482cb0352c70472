"""What every CRM keeps to, whichever vendor answers the port."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

import pytest
from msgspec.structs import replace

from openslot.domains.crm.models import CrmMeeting, CrmPerson, MeetingOutcome
from openslot.domains.crm.ports import (
    Crm,
    CrmBusy,
    CrmFault,
    CrmMeetingGone,
    CrmRefused,
    CrmTokenRefused,
    CrmUnavailable,
)

NINE = datetime(2026, 3, 16, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)
BOOKING = UUID("01957fd6-5d3f-7c54-9a3e-1c1a1a5b7c11")
NOTED: dict[str, Any] = {"phone": "+4915112345678", "company": "Okafor & Sons"}
PERSON = CrmPerson(
    email="jonas@okafor.example",
    name="Jonas Okafor",
    **NOTED,
    zone="Europe/Berlin",
    language="de",
    answers={"budget": "10,000"},
)
MEETING = CrmMeeting(
    booking_id=BOOKING,
    title="Intro: Jonas Okafor",
    starts_at=NINE,
    ends_at=NINE + HOUR,
    outcome=MeetingOutcome.SCHEDULED,
    url=f"https://openslot.example/bookings/{BOOKING}",
    location="Room 4",
    notes="Please bring the plans.",
    answers={"What is your budget?": "10,000"},
    event_type="Intro",
    host_name="Mara",
    host_email="mara@openslot.example",
    changed_at=NINE - timedelta(days=1),
)


class MeetingThere(Protocol):
    """A meeting as somebody sees it in the CRM."""

    @property
    def title(self) -> str: ...
    @property
    def starts_at(self) -> datetime: ...
    @property
    def ends_at(self) -> datetime: ...
    @property
    def outcome(self) -> MeetingOutcome: ...
    @property
    def url(self) -> str: ...
    @property
    def person_email(self) -> str: ...


class CrmPeer(Protocol):
    """An account of a CRM, empty at first, and what happens to it on the other side."""

    secret: str

    @property
    def crm(self) -> Crm: ...

    def list_people(self) -> dict[str, str]:
        """List the names of people by their addresses."""
        ...

    def rename(self, email: str, name: str) -> None:
        """Do what somebody does who knows the person's name better."""
        ...

    def list_meetings(self) -> Sequence[MeetingThere]: ...

    def delete_meetings(self) -> None: ...

    def lose_answer(self) -> None:
        """Carry the next request out, and send no answer."""
        ...

    def fail(self) -> None:
        """Fail at the next request without carrying it out."""
        ...

    def refuse(self, reason: str) -> None:
        """Refuse the next request that writes, by a rule of the account."""
        ...

    def ask_to_wait(self, seconds: int) -> None:
        """Refuse the next request because there were too many."""
        ...

    def revoke(self) -> None:
        """Accept the secret no more."""
        ...


class CrmContract:
    """Inherit it, and give a peer."""

    @pytest.fixture
    async def peer(self) -> CrmPeer:
        """Give an empty account."""
        raise NotImplementedError

    @pytest.fixture
    async def person_id(self, peer: CrmPeer) -> str:
        return await peer.crm.upsert_person(PERSON, key="1.person")

    async def test_the_account_has_an_id_and_a_name(self, peer: CrmPeer) -> None:
        first, second = await peer.crm.check(), await peer.crm.check()

        assert first == second
        assert first.account
        assert first.label

    async def test_a_person_is_added_once(self, peer: CrmPeer) -> None:
        first = await peer.crm.upsert_person(PERSON, key="1.person")
        second = await peer.crm.upsert_person(replace(PERSON, email="Jonas@Okafor.example"), key="2.person")

        assert first == second
        assert peer.list_people() == {"jonas@okafor.example": "Jonas Okafor"}

    async def test_a_person_is_added_once_if_the_answer_is_lost(self, peer: CrmPeer) -> None:
        peer.lose_answer()
        with pytest.raises(CrmUnavailable):
            await peer.crm.upsert_person(PERSON, key="1.person")

        await peer.crm.upsert_person(PERSON, key="1.person")

        assert list(peer.list_people()) == ["jonas@okafor.example"]

    async def test_a_name_that_somebody_has_filled_in_stays(self, peer: CrmPeer, person_id: str) -> None:
        peer.rename(PERSON.email, "Dr. Jonas Okafor")

        assert await peer.crm.upsert_person(PERSON, key="2.person") == person_id
        assert peer.list_people() == {"jonas@okafor.example": "Dr. Jonas Okafor"}

    async def test_a_meeting_is_added_with_its_person(self, peer: CrmPeer, person_id: str) -> None:
        await peer.crm.log_meeting(MEETING, person_id=person_id, key="1.meeting")

        (there,) = peer.list_meetings()
        assert there.title == MEETING.title
        assert (there.starts_at, there.ends_at) == (NINE, NINE + HOUR)
        assert there.outcome is MeetingOutcome.SCHEDULED
        assert there.url == MEETING.url
        assert there.person_email == PERSON.email

    async def test_a_meeting_is_added_once_and_shows_the_newest_state(self, peer: CrmPeer, person_id: str) -> None:
        first = await peer.crm.log_meeting(MEETING, person_id=person_id, key="1.meeting")
        cancelled = replace(MEETING, outcome=MeetingOutcome.CANCELLED)
        second = await peer.crm.log_meeting(cancelled, person_id=person_id, key="2.meeting")

        assert first == second
        assert [each.outcome for each in peer.list_meetings()] == [MeetingOutcome.CANCELLED]

    async def test_a_meeting_is_added_once_if_the_answer_is_lost(self, peer: CrmPeer, person_id: str) -> None:
        peer.lose_answer()
        with pytest.raises(CrmUnavailable):
            await peer.crm.log_meeting(MEETING, person_id=person_id, key="1.meeting")

        found = await peer.crm.log_meeting(MEETING, person_id=person_id, key="1.meeting")
        later = replace(MEETING, starts_at=NINE + HOUR, ends_at=NINE + 2 * HOUR)
        await peer.crm.change_meeting(found, later, key="2.meeting")

        assert [each.starts_at for each in peer.list_meetings()] == [NINE + HOUR]

    async def test_two_bookings_are_two_meetings_of_one_person(self, peer: CrmPeer, person_id: str) -> None:
        other = UUID(int=BOOKING.int + 1)
        moved = replace(MEETING, booking_id=other, url=f"https://openslot.example/bookings/{other}")
        ids = [await peer.crm.log_meeting(each, person_id=person_id, key=each.url) for each in (MEETING, moved)]

        assert len(set(ids)) == 2
        assert [each.person_email for each in peer.list_meetings()] == [PERSON.email] * 2

    @pytest.mark.parametrize("outcome", list(MeetingOutcome))
    async def test_a_meeting_is_changed(self, peer: CrmPeer, person_id: str, outcome: MeetingOutcome) -> None:
        id_ = await peer.crm.log_meeting(MEETING, person_id=person_id, key="1.meeting")
        changed = replace(MEETING, starts_at=NINE + HOUR, ends_at=NINE + 2 * HOUR, outcome=outcome)

        await peer.crm.change_meeting(id_, changed, key="2.meeting")
        await peer.crm.change_meeting(id_, changed, key="2.meeting")

        (there,) = peer.list_meetings()
        assert (there.starts_at, there.ends_at, there.outcome) == (NINE + HOUR, NINE + 2 * HOUR, outcome)

    async def test_a_meeting_that_was_deleted_is_not_changed(self, peer: CrmPeer, person_id: str) -> None:
        id_ = await peer.crm.log_meeting(MEETING, person_id=person_id, key="1.meeting")
        peer.delete_meetings()

        with pytest.raises(CrmMeetingGone):
            await peer.crm.change_meeting(id_, MEETING, key="2.meeting")
        assert not peer.list_meetings()

    async def test_a_rule_of_the_account_is_told_in_its_own_words(self, peer: CrmPeer, person_id: str) -> None:
        peer.refuse("Property deal_stage is required")

        with pytest.raises(CrmRefused, match="Property deal_stage is required"):
            await peer.crm.log_meeting(MEETING, person_id=person_id, key="1.meeting")
        assert not peer.list_meetings()

    async def test_a_wish_to_wait_is_told(self, peer: CrmPeer) -> None:
        peer.ask_to_wait(17)

        with pytest.raises(CrmBusy) as told:
            await peer.crm.upsert_person(PERSON, key="1.person")
        assert told.value.after == timedelta(seconds=17)

    async def test_a_fault_of_the_crm_may_pass(self, peer: CrmPeer) -> None:
        peer.fail()
        with pytest.raises(CrmUnavailable):
            await peer.crm.upsert_person(PERSON, key="1.person")

        await peer.crm.upsert_person(PERSON, key="1.person")

    async def test_a_secret_that_is_refused_needs_the_owner(self, peer: CrmPeer, person_id: str) -> None:
        peer.revoke()

        with pytest.raises(CrmTokenRefused):
            await peer.crm.check()
        with pytest.raises(CrmTokenRefused):
            await peer.crm.log_meeting(MEETING, person_id=person_id, key="1.meeting")

    async def test_no_fault_repeats_the_secret(self, peer: CrmPeer) -> None:
        peer.revoke()

        with pytest.raises(CrmFault) as told:
            await peer.crm.upsert_person(PERSON, key="1.person")
        assert peer.secret not in f"{told.value!s}{told.value!r}{told.value.__cause__!r}"
