"""Calls: the list and one call."""

from datetime import timedelta

import httpx2
import pytest

from openslot.domains.calls.models import CallDirection, CallStatus
from openslot.doors.web.dashboard.calls import length_of
from tests.doors.web.contacts.conftest import PHONE, Add, Ring
from tests.support.clocks import MONDAY
from tests.support.page import read_page

OTHER = "+493087654321"


async def test_finished_calls_are_listed_newest_first(member: httpx2.AsyncClient, add: Add, ring: Ring) -> None:
    await add(phone=PHONE)
    await ring(at=MONDAY - timedelta(days=2))
    await ring(phone=OTHER, direction=CallDirection.OUTBOUND, status=CallStatus.NO_ANSWER, seconds=0)
    await ring(status=None, agent_name="Still talking")
    text = " ".join((await member.get("/calls")).text.split())

    assert text.index(f"<bdi>{OTHER}</bdi>") < text.index("<bdi>Noor Haddad</bdi>")
    assert "<small>Outgoing · <bdi>Front desk</bdi></small>" in text
    assert "<small>Incoming · 3 min 4 s · <bdi>Front desk</bdi></small>" in text
    assert "No answer" in text
    assert "Still talking" not in text


FILTERS: list[tuple[dict[str, str], set[str]]] = [
    ({"q": "noor"}, {"mine"}),
    ({"q": "3087654"}, {"other"}),
    ({"direction": "outbound"}, {"other"}),
    ({"status": "completed"}, {"mine"}),
    ({"status": "failed"}, {"other"}),
    ({"status": "nonsense", "direction": "sideways"}, {"mine", "other"}),
    ({"from": "2026-03-16"}, {"mine"}),
    ({"to": "2026-03-15"}, {"other"}),
    ({"q": "nobody"}, set()),
]


async def test_filters_narrow_the_list(member: httpx2.AsyncClient, add: Add, ring: Ring) -> None:
    await add(phone=PHONE)
    await ring(agent_name="agent-mine")
    await ring(
        phone=OTHER,
        direction=CallDirection.OUTBOUND,
        status=CallStatus.FAILED,
        at=MONDAY - timedelta(days=2),
        agent_name="agent-other",
    )
    for query, found in FILTERS:
        text = (await member.get("/calls", params=query)).text

        assert {name for name in ("mine", "other") if f"agent-{name}" in text} == found, (query, found)
        assert ("No call matches this filter." in text) == (not found), (query, found)


async def test_a_call_is_shown_with_all_that_is_known(member: httpx2.AsyncClient, add: Add, ring: Ring) -> None:
    contact, call = await add(phone=PHONE), await ring()
    text = (await member.get(f"/calls/{call.id}")).text

    for words in ("Noor Haddad", "Completed", "Incoming", PHONE, "today, 08:00", "today, 08:03", "Front desk"):
        assert words in text
    assert f'href="/contacts/{contact.id}"' in text


async def test_a_call_that_is_under_way_has_no_page_yet(member: httpx2.AsyncClient, ring: Ring) -> None:
    call = await ring(status=None)

    assert (await member.get(f"/calls/{call.id}")).status_code == 404


async def test_without_calls_the_list_says_what_will_appear(member: httpx2.AsyncClient) -> None:
    assert "There are no calls yet. Calls that a voice agent has answered" in read_page(await member.get("/calls")).text


async def test_what_is_wrong_with_a_filter_stands_at_its_field(member: httpx2.AsyncClient) -> None:
    answer = await member.get("/calls?from=yesterday&q=%00")

    assert answer.status_code == 400
    assert read_page(answer).faults["from"] == "Must be a date, such as 2026-03-16"
    assert read_page(answer).faults["q"] == "Has characters that are not allowed"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(1, "1 s"), (59, "59 s"), (60, "1 min 0 s"), (184, "3 min 4 s"), (3600, "1 h 0 min"), (7384, "2 h 3 min")],
)
def test_a_length_is_said_in_words(seconds: int, words: str) -> None:
    assert str(length_of(seconds)) == words
