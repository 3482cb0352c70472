"""The log of two deliveries and its filters, and one of them."""

import re

import httpx2
import pytest

from openslot.platform.core.work import Runtime
from tests.doors.web.webhooks.conftest import last_delivery, results
from tests.support.page import read_page
from tests.support.receiver import Receiver

pytestmark = pytest.mark.reads_only

FILTERS = [
    ("", ["Failed, 500", "Delivered, 200"]),
    ("?result=failed", ["Failed, 500"]),
    ("?result=delivered", ["Delivered, 200"]),
    ("?result=nonsense", ["Failed, 500", "Delivered, 200"]),
    ("?event=contact.created", ["Failed, 500", "Delivered, 200"]),
    ("?event=booking.created", []),
    ("?event=%22%3E%3Cscript%3E", ["Failed, 500", "Delivered, 200"]),
    ("?from=2026-03-17", ["Failed, 500"]),
    ("?to=2026-03-16", ["Delivered, 200"]),
    ("?from=2026-03-16&to=2026-03-17", ["Failed, 500", "Delivered, 200"]),
    ("?from=2026-03-18", []),
    ("?page=2", []),
    ("?page=x", ["Failed, 500", "Delivered, 200"]),
]


async def test_the_log_is_filtered_by_event_result_and_day(member: httpx2.AsyncClient, logged: str) -> None:
    for query, expected in FILTERS:
        answer = await member.get(logged + query)

        assert answer.status_code == 200, (query, expected)
        assert results(answer) == expected, (query, expected)


@pytest.mark.parametrize(
    ("query", "fault"),
    [("?from=yesterday", "Must be a date"), ("?from=2026-03-17&to=2026-03-16", "Must not be before the first day")],
)
async def test_a_wrong_day_is_a_fault_of_its_field(
    member: httpx2.AsyncClient, logged: str, query: str, fault: str
) -> None:
    answer = await member.get(logged + query)

    assert answer.status_code == 400
    assert fault in read_page(answer).text


async def test_a_delivery_shows_all_that_was_sent_and_answered(
    member: httpx2.AsyncClient, runtime: Runtime, logged: str, receiver: Receiver
) -> None:
    answer = await member.get(f"{logged}/deliveries/{await last_delivery(runtime)}")

    assert answer.status_code == 200
    got = receiver.got[-1]
    assert f"webhook-id: {got.id}" in read_page(answer).text
    assert got.headers["webhook-signature"].replace("+", "&#43;") in answer.text.replace("+", "&#43;")
    assert "noor1@haddad.example" in read_page(answer).text
    assert "out of order" in read_page(answer).text
    assert "The endpoint answered 500." in read_page(answer).text
    assert "retry in less than a minute" in read_page(answer).text
    assert "Failed, 500" in read_page(answer).text


async def test_a_replay_is_suggested_for_the_last_week(member: httpx2.AsyncClient, logged: str) -> None:
    text = (await member.get(f"{logged}/replay")).text

    assert re.findall(r'type="date" required value="([^"]+)"', text) == ["2026-03-11", "2026-03-17"]
