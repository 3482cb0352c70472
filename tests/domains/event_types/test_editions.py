"""Editions: each field that a form edits is told apart, and nothing else."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from msgspec.structs import replace

from openslot.domains.event_types.models import Limits, Location, LocationKind, Money, Question, RollingWindow
from openslot.domains.event_types.rules import EDITED, edition_of, find_changed, take_edits
from tests.domains.event_types.support import TALK

OTHER: dict[str, Any] = {
    "schedule_id": UUID(int=9),
    "name": "Other",
    "slug": "other",
    "description": "Other",
    "color": "#000000",
    "duration_minutes": 31,
    "buffer_before": 1,
    "buffer_after": 1,
    "location": Location(LocationKind.PHONE),
    "min_notice_minutes": 1,
    "booking_window": RollingWindow(61),
    "slot_interval_minutes": 30,
    "limits": Limits(1),
    "seats": 2,
    "questions": (Question("a", "A"),),
    "price": Money(1, "EUR"),
    "refund_policy": "none",
    "requires_confirmation": True,
    "durations": (30, 60),
    "redirect_url": "https://shop.example/thanks",
    "recurring_weeks": 4,
    "locations": (TALK.location, Location(LocationKind.PHONE)),
    "requires_email_verification": True,
    "payment_connection_id": UUID(int=9),
}
NOT_EDITED: dict[str, Any] = {
    "id": UUID(int=9),
    "owner_id": UUID(int=9),
    "position": 9,
    "active": False,
    "is_private": True,
    "accepts_payments": True,
    "wait_list_minutes": 120,
    "team_id": UUID(int=9),
    "created_at": TALK.created_at + timedelta(1),
    "updated_at": TALK.updated_at + timedelta(1),
}


def test_every_field_is_edited_by_the_form_or_by_a_verb_of_its_own() -> None:
    assert {*EDITED, *NOT_EDITED} == {field.name for field in msgspec.structs.fields(type(TALK))}
    assert set(EDITED) == OTHER.keys()


@pytest.mark.parametrize("field", EDITED)
def test_a_changed_field_is_named(field: str) -> None:
    assert find_changed(replace(TALK, **{field: OTHER[field]}), since=edition_of(TALK)) == (field,)


@pytest.mark.parametrize("field", NOT_EDITED)
def test_what_the_form_does_not_edit_is_no_change(field: str) -> None:
    assert find_changed(replace(TALK, **{field: NOT_EDITED[field]}), since=edition_of(TALK)) == ()


@pytest.mark.parametrize("edition", ["", "x", "x" * 500])
def test_an_edition_that_can_not_be_read_is_another_in_every_field(edition: str) -> None:
    assert find_changed(TALK, since=edition) == EDITED


def test_only_edited_fields_are_taken_over() -> None:
    edited = replace(TALK, **OTHER, **NOT_EDITED)

    assert take_edits(TALK, edited) == replace(TALK, **OTHER)
