"""Twilio alone: the form that it gets, files behind redirects, messages that are not listed yet, and its codes."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from openslot.domains.conversations.models import Channel
from openslot.domains.messaging.connections.models import ConnectionChannel
from openslot.domains.messaging.models import DeliveryStatus, MessageCredentials, NumberState, RefusalReason
from openslot.domains.messaging.ports import AccountRefused, MessageRefused, MessagesUnavailable
from openslot.platform.core.outbound import Outbound
from openslot.vendors.twilio.account import Twilio, TwilioAccount
from tests.support.clocks import MovingClock
from tests.support.fake_server import Fault, FaultKind
from tests.support.fake_twilio import FakeAccount, FakeTwilio
from tests.support.fake_twilio.account import FakeFile
from tests.vendors.messaging.support import LIMITS, MESSAGE, NUMBER, PHONE, SINCE, TEMPLATE

FILE = f"Messages/SM{'1' * 32}/Media/ME{'2' * 32}"


async def lose(account: TwilioAccount, fake: FakeTwilio, **changes: Any) -> None:
    """Send a message whose answer is lost."""
    fake.faults.append(Fault(FaultKind.LOSE_ANSWER, "Messages.json", "POST"))
    with pytest.raises(MessagesUnavailable):
        await account.send(replace(MESSAGE, **changes))


async def test_a_form_has_what_was_asked_for_and_nothing_else(account: TwilioAccount, books: FakeAccount) -> None:
    await account.send(MESSAGE)
    assert books.sent[0].form == {
        "To": PHONE,
        "From": NUMBER,
        "Body": MESSAGE.body,
        "ValidityPeriod": "7200",
        "StatusCallback": MESSAGE.status_url,
    }


async def test_a_template_goes_without_a_body(account: TwilioAccount, books: FakeAccount) -> None:
    books.templates[TEMPLATE.id] = "{{1}} {{2}}"
    await account.send(
        replace(MESSAGE, channel=Channel.WHATSAPP, body=None, template=TEMPLATE, validity=None, status_url=None)
    )
    assert books.sent[0].form == {
        "To": f"whatsapp:{PHONE}",
        "From": f"whatsapp:{NUMBER}",
        "ContentSid": TEMPLATE.id,
        "ContentVariables": '{"1":"Jonas","2":"10:00"}',
    }


@pytest.mark.parametrize(
    ("validity", "sent"), [(timedelta(days=3), "36000"), (timedelta(seconds=1.9), "1"), (timedelta(hours=10), "36000")]
)
async def test_a_validity_is_within_what_twilio_takes(
    account: TwilioAccount, books: FakeAccount, validity: timedelta, sent: str
) -> None:
    await account.send(replace(MESSAGE, validity=validity))
    assert books.sent[0].form["ValidityPeriod"] == sent


async def test_a_message_that_could_not_leave_in_time_fails(
    account: TwilioAccount, books: FakeAccount, clock: MovingClock
) -> None:
    books.is_stuck = True
    sent = await account.send(MESSAGE)
    clock.pass_time(hours=1, minutes=59)
    assert (await account.get_status(sent.id)).status is DeliveryStatus.QUEUED
    clock.pass_time(minutes=2)
    late = await account.get_status(sent.id)
    assert (late.status, late.code, late.reason) == (DeliveryStatus.FAILED, "30036", RefusalReason.OTHER)


async def test_a_closed_country_and_a_landline_have_their_reasons(
    account: TwilioAccount, books: FakeAccount, clock: MovingClock
) -> None:
    books.closed_prefixes.add("+88")
    with pytest.raises(MessageRefused) as refused:
        await account.send(replace(MESSAGE, recipient="+8801711111111"))
    assert (refused.value.reason, refused.value.code) == (RefusalReason.NOT_ALLOWED, "21408")

    books.landlines.add(PHONE)
    sent = await account.send(MESSAGE)
    clock.pass_time(seconds=2)
    failed = await account.get_status(sent.id)
    assert (failed.status, failed.reason) == (DeliveryStatus.UNDELIVERED, RefusalReason.INVALID_NUMBER)


async def test_a_number_without_sms_and_an_account_that_is_closed_are_told(
    account: TwilioAccount, books: FakeAccount
) -> None:
    books.numbers[NUMBER]["sms"] = False
    assert (await account.check(channel=ConnectionChannel.SMS, number=NUMBER)).number is NumberState.NOT_CAPABLE
    assert (await account.check(channel=ConnectionChannel.WHATSAPP, number=NUMBER)).number is NumberState.UNKNOWN
    books.status = "suspended"
    with pytest.raises(MessageRefused, match="not active"):
        await account.check(channel=ConnectionChannel.SMS, number=NUMBER)


@pytest.mark.parametrize("sid", ["", "AC1", "SK" + "1" * 32, "AC" + "1" * 31 + "/", "AC" + "1" * 33])
def test_what_can_be_no_account_is_refused(sid: str) -> None:
    with pytest.raises(AccountRefused):
        Twilio("https://api.twilio.com").open(Outbound(), MessageCredentials(account=sid, token="1" * 32))


async def test_a_message_that_has_not_left_is_found_later(
    account: TwilioAccount, fake: FakeTwilio, books: FakeAccount, clock: MovingClock
) -> None:
    await lose(account, fake)
    assert await account.find_sent(MESSAGE, since=SINCE) is None
    clock.pass_time(seconds=2)
    found = await account.find_sent(MESSAGE, since=SINCE)
    assert found is not None
    assert found.id == books.sent[0].sid


@pytest.mark.parametrize(
    "changes",
    [{"body": "Another text"}, {"recipient": "+4915199999999"}, {"sender": "+4930333444"}],
    ids=["text", "recipient", "sender"],
)
async def test_another_message_is_not_taken_for_the_lost_one(
    account: TwilioAccount, fake: FakeTwilio, books: FakeAccount, clock: MovingClock, changes: dict[str, str]
) -> None:
    books.numbers["+4930333444"] = {"sms": True}
    await lose(account, fake, **changes)
    clock.pass_time(seconds=2)
    assert await account.find_sent(MESSAGE, since=SINCE) is None


async def test_an_older_message_of_the_same_day_is_not_taken_for_it(
    account: TwilioAccount, books: FakeAccount, clock: MovingClock
) -> None:
    await account.send(MESSAGE)
    clock.pass_time(minutes=3)
    assert await account.find_sent(MESSAGE, since=clock.now) is None
    assert await account.find_sent(MESSAGE, since=clock.now - timedelta(minutes=2)) is not None


async def test_a_lost_message_is_found_after_midnight_and_with_the_trials_prefix(
    account: TwilioAccount, fake: FakeTwilio, books: FakeAccount, clock: MovingClock
) -> None:
    clock.now = clock.now.replace(hour=23, minute=59, second=59)
    asked_at = clock.now
    await lose(account, fake)
    books.sent[0].body = f"Sent from your Twilio trial account - {MESSAGE.body}"
    clock.pass_time(seconds=5)
    assert await account.find_sent(MESSAGE, since=asked_at) is not None


async def test_a_lost_template_is_found_by_what_was_filled_in(
    account: TwilioAccount, fake: FakeTwilio, books: FakeAccount, clock: MovingClock
) -> None:
    books.templates[TEMPLATE.id] = "Hello {{1}}, see you at {{2}}."
    wanted = replace(MESSAGE, channel=Channel.WHATSAPP, body=None, template=TEMPLATE)
    await lose(account, fake, channel=Channel.WHATSAPP, body=None, template=TEMPLATE)
    clock.pass_time(seconds=2)
    other = replace(TEMPLATE, variables={"1": "Jonas", "2": "11:00"})
    assert await account.find_sent(replace(wanted, template=other), since=SINCE) is None
    for nothing in ({}, {"1": ""}):
        empty = replace(wanted, template=replace(TEMPLATE, variables=nothing))
        assert await account.find_sent(empty, since=SINCE) is None
    assert await account.find_sent(wanted, since=SINCE) is not None


async def test_the_token_goes_to_twilio_and_not_to_where_it_leads(
    account: TwilioAccount, fake: FakeTwilio, books: FakeAccount
) -> None:
    books.files[FILE] = FakeFile(b"x", "image/png")
    assert (await account.fetch_media(FILE, limits=LIMITS)).content == b"x"
    assert ["authorization" in each.headers for each in fake.asked] == [True, False]


async def test_a_recording_is_fetched_and_deleted(account: TwilioAccount, books: FakeAccount) -> None:
    ref = books.add_recording(b"ID3")
    fetched = await account.fetch_media(ref, limits=LIMITS)
    assert (fetched.content, fetched.content_type) == (b"ID3", "audio/mpeg")
    await account.delete_media(ref)
    assert books.files == {}


async def test_a_redirect_into_the_private_network_is_not_followed(
    account: TwilioAccount, fake: FakeTwilio, books: FakeAccount
) -> None:
    books.files[FILE] = FakeFile(b"x", "image/png")
    fake.store_url = "http://10.0.0.1"
    with pytest.raises(MessagesUnavailable, match="not allowed"):
        await account.fetch_media(FILE, limits=LIMITS)


async def test_redirects_end(account: TwilioAccount, fake: FakeTwilio, books: FakeAccount) -> None:
    books.files[FILE] = FakeFile(b"x", "image/png")
    around = Fault(FaultKind.STATUS, "/store", status=307, headers={"Location": "/store/again"})
    fake.faults = [around] * 9
    with pytest.raises(MessagesUnavailable, match="without end"):
        await account.fetch_media(FILE, limits=LIMITS)
    assert len(fake.asked) == 4


@pytest.mark.parametrize(
    "ref",
    ["", "https://evil.example/x", "../IncomingPhoneNumbers", f"{FILE}/..", f"{FILE}?x", f" {FILE}", "Recordings/RE1"],
)
async def test_what_is_no_file_of_the_account_is_not_asked_for(
    account: TwilioAccount, fake: FakeTwilio, ref: str
) -> None:
    for ask in (lambda: account.fetch_media(ref, limits=LIMITS), lambda: account.delete_media(ref)):
        with pytest.raises(MessageRefused):
            await ask()
    assert fake.asked == []
