"""Every rule of the REST contract, and the tests that hold it: a rule whose test is gone turns this table red."""

import re
from functools import cache
from pathlib import Path

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer

TESTS = Path(__file__).parents[1]
RULES: dict[str, tuple[str, ...]] = {
    "the plan that counts": (
        "the_highest_plan_that_still_runs_counts",
        "a_plan_of_the_organization_opens_the_door_too",
    ),
    "a lost plan closes its keys": ("every_cause_gets_the_same_401_on_the_next_request",),
    "the life and shape of keys": ("a_new_credential_has_the_shape_of_the_contract", "a_key_lives_until_its_expiry"),
    "ids are sortable, and no id is 404": (
        "ids_made_in_one_millisecond_sort_by_the_time_they_were_made",
        "what_is_no_id_names_nothing",
    ),
    "all fields of a booking": ("a_booked_slot_reads_as_it_was_made", "the_list_shows_newest_first_and_filters"),
    "rescheduling": (
        "a_moved_booking_keeps_its_id_and_its_old_time_is_free",
        "moving_to_the_same_time_changes_nothing",
    ),
    "cancelling twice": ("cancelling_gives_the_time_back_and_twice_changes_nothing",),
    "the past is closed": ("what_is_over_or_cancelled_can_not_be_changed",),
    "a reason is optional": ("a_cancel_needs_no_body",),
    "status filter": ("the_list_shows_newest_first_and_filters", "several_wrong_filters_are_all_named"),
    "from and to": ("to_is_included_and_a_date_means_its_whole_day", "from_after_to_is_refused"),
    "400 or 409 for a start": (
        "what_is_no_start_is_wrong_not_taken",
        "a_start_beyond_the_window_or_notice_is_not_available",
    ),
    "slugs that can't be booked": ("an_unknown_foreign_or_inactive_slug_is_not_found",),
    "the public answer": ("anyone_books_and_gets_a_link",),
    "paid event types": ("a_paid_event_type_is_free_for_the_host_and_closed_to_the_public_without_a_provider",),
    "the contact of a booking": ("an_invitee_becomes_a_contact_once", "fifty_at_once_make_one_contact_and_one_event"),
    "the fields of a contact": ("hostile_bodies_are_refused_field_by_field", "null_clears_what_may_be_empty"),
    "search": ("a_search_finds_what_looking_at_everyone_finds",),
    "a deleted contact": ("a_booking_outlives_its_contact", "a_deleted_contact_is_gone_for_good"),
    "buffers": ("buffers_of_both_sides_keep_meetings_apart", "two_active_claims_of_a_host_never_share_time"),
    "scheduling configuration": ("an_event_type_tells_all_that_decides",),
    "the range of availability": ("days_are_in_order_and_62_at_most",),
    "zones": ("zone_names_count_in_any_letter_case", "what_is_no_name_of_a_zone_is_not_found"),
    "slots in the asker's zone": ("slots_are_listed_in_the_askers_zone",),
    "pages": (
        "a_page_past_the_end_is_empty_with_true_totals",
        "nothing_has_no_pages",
        "wrong_parameters_are_all_named",
    ),
    "messages": ("the_newest_fifty_are_read_oldest_first_and_all_are_counted",),
    "calls": ("a_call_is_listed_once_it_is_over", "repeated_and_late_notices_change_nothing"),
    "errors": ("every_refusal_is_json_with_an_error", "a_fault_of_ours_tells_nothing_of_the_inside"),
    "every wrong field at once": ("every_wrong_field_is_named_at_once", "every_wrong_parameter_is_named_at_once"),
    "one 401": ("every_cause_gets_the_same_401_on_the_next_request",),
    "foreign ids": (
        "a_foreign_booking_looks_like_none",
        "anothers_contact_looks_like_none",
        "a_foreign_event_type_looks_like_none",
    ),
    "failed authentications": (
        "five_wrong_keys_are_401_and_the_sixth_is_429",
        "of_a_hundred_wrong_keys_at_once_exactly_five_are_401",
        "a_good_key_waits_with_its_address_and_is_not_charged",
    ),
    "per minute": (
        "never_more_than_the_limit_in_any_minute_and_never_less_without_need",
        "retry_after_is_the_first_whole_second_that_is_enough",
        "limits_and_retries_hold_across_processes",
    ),
    "client addresses": ("only_what_trusted_proxies_wrote_is_believed", "a_forged_header_gains_no_more_tries"),
    "safe retries": (
        "a_retry_with_the_same_key_books_once",
        "a_public_retry_books_once",
        "an_answer_is_kept_for_a_day",
    ),
    "bodies and texts": ("64_levels_are_read_and_65_are_not", "another_media_type_is_415", "no_bytes_break_anything"),
    "the grid": ("starts_are_counted_from_the_start_of_the_hours", "engine_and_oracle_list_and_judge_alike"),
    "default dates": ("dates_left_out_begin_today_in_the_viewers_zone",),
    "meetings of a contact": ("meetings_stand_on_their_side_of_now",),
    "invitee fields": ("a_wrong_field_is_named_and_nothing_is_changed",),
    "order of lists": ("contacts_are_listed_newest_first_with_their_count",),
    "statuses, and HEAD": (
        "success_is_200_everywhere_but_where_something_is_made_or_gone",
        "head_answers_as_get_without_the_body",
    ),
    "public reads and holds": (
        "a_held_slot_is_kept_for_its_holder",
        "an_address_holds_three_slots_at_most",
        "an_address_may_ask_so_often_in_a_minute_and_no_more",
    ),
    "manage links": ("a_link_reads_moves_and_cancels_its_booking_alone", "a_forged_link_opens_nothing"),
    "reserved usernames": ("no_username_can_hide_a_path_of_ours",),
}


@cache
def known_tests() -> set[str]:
    text = "".join(path.read_text("utf-8") for path in TESTS.rglob("test_*.py"))
    return set(re.findall(r"^(?:async )?def test_(\w+)", text, re.MULTILINE))


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_held_by_a_test(rule: str) -> None:
    assert set(RULES[rule]) <= known_tests()


async def test_a_foreign_event_type_looks_like_none(
    client: httpx2.AsyncClient, bearer: dict[str, str], runtime: Runtime, admin: User
) -> None:
    theirs = await offer(runtime, admin, "theirs")
    answers = [await client.get(f"/api/v1/event-types/{each}", headers=bearer) for each in (theirs.id, new_id())]

    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].content == answers[1].content


async def test_an_event_type_tells_all_that_decides(
    client: httpx2.AsyncClient, bearer: dict[str, str], runtime: Runtime, user: User
) -> None:
    closed = await offer(runtime, user, "closed", active=False, buffer_after=15)
    found = (await client.get(f"/api/v1/event-types/{closed.id}", headers=bearer)).json()

    assert (found["active"], found["durationMinutes"], found["bufferAfter"]) == (False, 30, 15)
    assert found["schedulingConfig"] == {
        "timezone": "UTC",
        "weeklyHours": {
            day: [{"start": "09:00", "end": "17:00"}] if day[:2] not in {"sa", "su"} else []
            for day in ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
        },
        "dateOverrides": [],
        "outOfOffice": [],
        "holidays": None,
        "minNoticeMinutes": 0,
        "bookingWindow": {"type": "rolling", "days": 60},
        "slotIntervalMinutes": 30,
        "limits": {"perDay": None, "perWeek": None, "perInvitee": None},
        "seats": 1,
        "location": {"kind": "text", "value": ""},
        "questions": [],
        "price": None,
        "durations": [30],
        "locations": [{"kind": "text", "value": ""}],
        "redirectUrl": None,
        "recurringWeeks": None,
        "waitListMinutes": None,
        "requiresEmailVerification": False,
        "requiresConfirmation": False,
    }
    listed = (await client.get("/api/v1/event-types", headers=bearer)).json()
    assert [each["slug"] for each in listed["data"]] == ["30min"]
