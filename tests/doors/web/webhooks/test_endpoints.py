"""Add, change, pause, rotate, test and delete an endpoint by its pages."""

import re
from datetime import UTC, datetime

import httpx2
from standardwebhooks import Webhook

from openslot.domains.accounts.models import User
from openslot.domains.webhooks.rules import MAX_ENDPOINTS
from openslot.domains.webhooks.schemas import PUBLISHED_TYPES
from openslot.doors.web.dashboard.webhooks.endpoints import SENTENCES, URL_FAULTS
from openslot.platform.core.outbound import OutboundReason
from openslot.platform.core.work import Runtime
from tests.domains.webhooks.conftest import Add, Happen
from tests.doors.web.webhooks.conftest import HERE, Create, last_delivery
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.page import read_page
from tests.support.receiver import Receiver

FAULTS = [
    ({"url": ""}, "Enter the address that receives the events"),
    ({"url": "   "}, "Enter the address that receives the events"),
    ({"url": "ftp://example.com/x"}, "Must begin with https://"),
    ({"url": "example.com"}, "Must begin with https://"),
    ({"url": "https://user:pass@example.com/"}, "Must not contain a user name or password"),
    ({"url": "https://10.0.0.1/hook"}, "Must lead to a public address"),
    ({"url": "https://exämple.com/ x"}, "Must be an address of printable ASCII characters"),
    ({"url": "https://example.com/" + "x" * 2100}, "Must have at most 2048 characters"),
    ({"url": "https://example.com/", "which": "chosen"}, "Choose at least one event"),
    (
        {"url": "https://example.com/", "which": "chosen", "events": "booking.exploded"},
        "Must be one of booking.created",
    ),
    ({"url": "https://example.com/", "description": "x" * 201}, "Must be one line of at most 200 characters"),
    ({"url": "https://example.com/", "description": "\u200b\u2800"}, "Must contain visible characters"),
    ({"url": "https://example.com/", "description": "a\nb"}, "Must be one line of at most 200 characters"),
]


def test_every_event_that_can_be_chosen_has_a_sentence_that_can_be_translated() -> None:
    assert set(SENTENCES) == set(PUBLISHED_TYPES)


def test_every_reason_to_refuse_an_address_has_words_for_its_field() -> None:
    assert set(URL_FAULTS) == set(OutboundReason) - {OutboundReason.METHOD, OutboundReason.HEADERS}


async def test_without_endpoints_the_page_says_the_next_step(member: httpx2.AsyncClient) -> None:
    answer = await member.get(HERE)

    assert answer.status_code == 200
    assert "No endpoint yet" in read_page(answer).text
    assert f"{HERE}/new" in read_page(answer).addresses


async def test_the_secret_is_shown_once_and_signs_what_is_sent(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, create: Create, receiver: Receiver, happen: Happen
) -> None:
    path, secret = await create(description="The website")
    assert secret.startswith("whsec_")
    for each in (HERE, path, f"{path}/edit", f"{path}/rotate", f"{path}/delete", f"{path}/replay"):
        answer = await member.get(each)
        assert answer.status_code == 200
        assert secret not in answer.text, each

    await happen()
    await work_off(runtime, clock)
    got = receiver.got[-1]
    assert _is_signed(secret, got.headers, got.body)
    assert not _is_signed("whsec_" + "A" * 43 + "=", got.headers, got.body)


async def test_a_fault_stands_at_its_field_and_what_was_typed_is_kept(
    member: httpx2.AsyncClient, runtime: Runtime, create: Create
) -> None:
    path, _ = await create()
    for fields, fault in FAULTS:
        for target in (HERE, f"{path}/edit"):
            answer = await member.post(target, data={"which": "all", **fields})

            assert answer.status_code == 400, (fields, fault)
            assert fault in read_page(answer).text, (fields, fault)
            assert answer.text.count('class="fault"') == 1, (fields, fault)
            kept = re.search(r'name="url"[^>]* value="([^"]*)"', answer.text)
            assert kept is not None, (fields, fault)
            assert kept[1] == fields["url"], (fields, fault)
        assert await runtime.pool.fetchval("select count(*) from webhook_endpoints") == 1, (fields, fault)


async def test_chosen_events_stay_chosen_when_the_address_is_wrong(member: httpx2.AsyncClient) -> None:
    answer = await member.post(HERE, data={"url": "", "which": "chosen", "events": ["booking.cancelled"]})

    assert re.findall(r'name="(?:which|events)" value="([^"]+)" checked', answer.text) == [
        "chosen",
        "booking.cancelled",
    ]


async def test_an_endpoint_is_changed(member: httpx2.AsyncClient, create: Create, receiver: Receiver) -> None:
    path, _ = await create()
    answer = await member.post(
        f"{path}/edit",
        data={
            "url": receiver.url,
            "which": "chosen",
            "events": ["contact.created", "booking.created"],
            "description": "Zapier",
        },
    )
    assert answer.headers["location"] == f"{path}?done=changed"
    shown = (await member.get(answer.headers["location"])).text
    assert "The endpoint was changed." in shown
    assert "booking.created, contact.created" in shown
    assert "Zapier" in shown
    again = (await member.get(f"{path}/edit")).text
    assert re.findall(r'name="(?:which|events)" value="([^"]+)" checked', again) == [
        "chosen",
        "booking.created",
        "contact.created",
    ]
    await member.post(f"{path}/edit", data={"url": receiver.url, "which": "all", "events": ["contact.created"]})
    assert "All events" in read_page(await member.get(path)).text


async def test_a_paused_endpoint_is_sent_nothing_until_it_is_resumed(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, create: Create, receiver: Receiver, happen: Happen
) -> None:
    path, _ = await create()
    assert "Working" in read_page(await member.get(HERE)).text
    paused = await member.post(f"{path}/pause")
    assert "Paused" in read_page(await member.get(HERE)).text
    assert "The endpoint is paused" in read_page(await member.get(paused.headers["location"])).notices[0]
    await happen()
    await work_off(runtime, clock)
    assert receiver.got == []

    await member.post(f"{path}/resume")
    await happen()
    await work_off(runtime, clock)
    assert len(receiver.got) == 1


async def test_rotation_shows_the_new_secret_once_and_both_sign_for_a_day(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, create: Create, receiver: Receiver, happen: Happen
) -> None:
    path, old = await create()
    asked = await member.get(f"{path}/rotate")
    assert "accepted for 24 hours" in read_page(asked).text
    assert "rotated recently" not in asked.text
    answer = await member.post(f"{path}/rotate")
    found = re.search(r"whsec_[A-Za-z0-9+/=]{44}", answer.text.partition('id="secret"')[2])
    assert found is not None
    new = found[0]
    assert new != old
    assert "The old secret is accepted until Tuesday 17 March, 08:00" in read_page(answer).text
    shown = (await member.get(path)).text
    assert new not in shown
    assert "Tuesday 17 March, 08:00" in shown
    assert "rotated recently" in read_page(await member.get(f"{path}/rotate")).notices[0]

    await happen()
    await work_off(runtime, clock)
    got = receiver.got[-1]
    assert _is_signed(old, got.headers, got.body)
    assert _is_signed(new, got.headers, got.body)


async def test_deleting_asks_first_and_takes_the_log_away(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, create: Create, happen: Happen
) -> None:
    path, _ = await create()
    await happen()
    await work_off(runtime, clock)
    asked = await member.get(f"{path}/delete")
    assert "its log is deleted" in read_page(asked).text
    assert await runtime.pool.fetchval("select count(*) from webhook_endpoints") == 1
    answer = await member.post(f"{path}/delete")
    assert answer.headers["location"] == f"{HERE}?done=deleted"
    assert "were deleted" in read_page(await member.get(answer.headers["location"])).notices[0]
    assert await runtime.pool.fetchval("select count(*) from webhook_deliveries") == 0
    assert (await member.get(path)).status_code == 404


async def test_the_result_of_a_test_is_shown_on_the_page(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, create: Create, receiver: Receiver
) -> None:
    path, secret = await create()
    await member.post(f"{path}/pause")
    sent = await member.post(f"{path}/test")
    assert sent.headers["location"] == f"{path}#test"
    waiting = (await member.get(path)).text
    assert "is in progress" in waiting
    assert 'http-equiv="refresh"' in waiting
    assert "data-under-way" in waiting
    await work_off(runtime, clock)
    done = (await member.get(path)).text
    assert "was delivered. The endpoint answered 200" in done
    assert "data-under-way" not in done
    got = receiver.got[-1]
    assert _is_signed(secret, got.headers, got.body)
    assert got.json["type"] == "webhook.test"

    receiver.answer(500, body=b"boom")
    await member.post(f"{path}/test")
    await work_off(runtime, clock)
    failed = (await member.get(path)).text
    assert "failed after 1 attempt" in failed
    assert "The endpoint answered 500." in failed


async def test_the_list_says_how_each_endpoint_is_doing(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, create: Create, receiver: Receiver, happen: Happen
) -> None:
    await create()
    assert "Nothing has been sent yet" in read_page(await member.get(HERE)).text
    await happen()
    await work_off(runtime, clock)
    assert "Last delivery today, 08:00, answered 200" in read_page(await member.get(HERE)).text
    receiver.answer(503)
    await happen()
    await work_off(runtime, clock)
    failing = (await member.get(HERE)).text
    assert "Failing" in failing
    assert "since today, 08:00" in failing
    assert "failed, answered 503" in failing
    receiver.answer(410)
    await happen()
    await work_off(runtime, clock)
    off = (await member.get(HERE)).text
    assert "Switched off" in off
    assert "It answered 410, which means that it is gone." in off


async def test_no_more_endpoints_than_one_may_have(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, add: Add, receiver: Receiver
) -> None:
    for _ in range(MAX_ENDPOINTS):
        await add(receiver.url)
    assert "reached the limit of" in read_page(await member.get(HERE)).notices[0]
    answer = await member.post(HERE, data={"url": receiver.url, "which": "all"})
    assert answer.status_code == 400
    assert "Delete one first" in read_page(answer).notices[0]
    assert await runtime.pool.fetchval("select count(*) from webhook_endpoints") == MAX_ENDPOINTS


def _is_signed(secret: str, headers: dict[str, str], body: bytes) -> bool:
    """Sign with the library and compare; its `verify` reads a clock that is not the test's."""
    at = datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)
    return Webhook(secret).sign(headers["webhook-id"], at, body.decode()) in headers["webhook-signature"].split(" ")


async def test_our_failures_are_shown_in_the_hosts_language_and_those_of_others_as_they_are(
    member: httpx2.AsyncClient,
    runtime: Runtime,
    clock: MovingClock,
    create: Create,
    happen: Happen,
    receiver: Receiver,
) -> None:
    path, _ = await create()
    receiver.answer(500)
    await happen()
    await member.post(f"{path}/test")
    await work_off(runtime, clock)
    await runtime.pool.execute("update users set locale = 'de'")
    for error, shown in (
        ('outbound.unresolved {"host":"hooks.example"}', "hooks.example konnte nicht aufgelöst werden."),
        ("Certificate expired", '<bdi lang="en">Certificate expired</bdi>'),
    ):
        await runtime.pool.execute("update webhook_deliveries set error = $1", error)
        for page in (path, f"{path}/deliveries/{await last_delivery(runtime)}"):
            assert shown in (await member.get(page)).text, page
