"""The fake itself: what it refuses, and that its notices are verified and read, in whatever order they come."""

import base64
from functools import reduce
from random import Random
from urllib.parse import urlencode

import httpx2
import pytest

from openslot.domains.messaging.models import CallProgress, DeliveryStatus, MediaRef, OptOut, later
from openslot.domains.messaging.ports import BadNotice
from openslot.vendors.twilio.account import TwilioAccount
from openslot.vendors.twilio.notices import read_call, read_form, read_inbound, read_status
from openslot.vendors.twilio.signature import verify
from tests.support.clocks import MovingClock
from tests.support.fake_twilio import Delivery, FakeAccount, FakeTwilio
from tests.vendors.messaging.support import MESSAGE, PHONE

pytestmark = pytest.mark.rest("tests a fake of a vendor")

URL = "https://openslot.example/api/notices/twilio/1/messages"


def read(delivery: Delivery) -> dict[str, str]:
    headers = {name.lower(): value for name, value in delivery.headers.items()}
    verify(delivery.url, delivery.body, headers, tokens=(delivery.account.token,))
    return read_form(delivery.body, account=delivery.account.sid)


async def ask(fake: FakeTwilio, books: FakeAccount, **form: str) -> httpx2.Response:
    credentials = base64.b64encode(f"{books.sid}:{books.token}".encode()).decode()
    async with httpx2.AsyncClient(trust_env=False) as client:
        return await client.post(
            f"{fake.url}/2010-04-01/Accounts/{books.sid}/Messages.json",
            headers={"Authorization": f"Basic {credentials}", "Content-Type": "application/x-www-form-urlencoded"},
            content=urlencode(form),
        )


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"to": "x"}, 20001),
        ({"IdempotencyKey": "1"}, 20001),
        ({"Body": ""}, 21619),
        ({"Body": "a" * 1601}, 21617),
        ({"ValidityPeriod": "0"}, 21626),
        ({"ValidityPeriod": "36001"}, 21626),
        ({"To": "0151"}, 21211),
        ({"From": "+1"}, 21659),
        ({"To": f"whatsapp:{PHONE}"}, 63007),
    ],
)
async def test_what_twilio_does_not_take_is_refused(
    fake: FakeTwilio, books: FakeAccount, change: dict[str, str], code: int
) -> None:
    answer = await ask(fake, books, **{"To": PHONE, "From": "+4930111222", "Body": "Hi", **change})
    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert (await ask(fake, books, To=PHONE, From="+4930111222", Body="Hi")).status_code == 201


async def test_any_order_of_statuses_ends_the_same(
    account: TwilioAccount, fake: FakeTwilio, clock: MovingClock
) -> None:
    sent = await account.send(MESSAGE)
    clock.pass_time(seconds=5)
    fake.let_time_pass()
    told = [each.form["MessageStatus"] for each in fake.notices.waiting]
    assert told == ["sending", "sent", "delivered"]
    for number in range(20):
        fake.notices.shuffle(Random(number))
        fake.notices.repeat()
        notices = [notice for each in fake.notices.waiting if (notice := read_status(read(each)))]
        assert {each.id for each in notices} == {sent.id}
        assert reduce(later, (each.status for each in notices), sent.status) is DeliveryStatus.DELIVERED
        fake.notices.waiting = fake.notices.waiting[:3]


def test_a_message_that_comes_in_is_signed_and_read(books: FakeAccount, fake: FakeTwilio) -> None:
    books.message_url = URL
    message = books.receive(PHONE, "Größe 漢 🙂 & +", OptOutType="STOP")
    assert read_inbound(read(fake.notices.waiting[0])).opt_out is OptOut.STOP
    assert read_inbound(read(fake.notices.waiting[0])).id == message.sid

    fields = {"NumMedia": "1", "MediaContentType0": "image/png"}
    place = f"Messages/SM{'1' * 32}/Media/ME{'2' * 32}"
    books.receive(PHONE, MediaUrl0=f"{fake.url}/2010-04-01/Accounts/{books.sid}/{place}", **fields)
    assert read_inbound(read(fake.notices.waiting[1])).media == (MediaRef(ref=place, content_type="image/png"),)


def test_stop_and_start_are_understood_by_sms_alone(books: FakeAccount) -> None:
    books.receive(f"whatsapp:{PHONE}", "STOP")
    books.receive(PHONE, "Stop texting me")
    assert books.opted_out == set()
    books.receive(PHONE, " cancel ")
    assert books.opted_out == {PHONE}
    books.receive(PHONE, "YES")
    assert books.opted_out == set()


def test_calls_are_signed_and_read(books: FakeAccount, fake: FakeTwilio) -> None:
    books.call_url = URL
    sid = books.call(PHONE, "ringing", "in-progress", "completed", CallDuration="61")
    read_calls = [read_call(read(each)) for each in fake.notices.waiting]
    assert [(each.id, each.sequence, each.status) for each in read_calls] == [
        (sid, 0, CallProgress.RINGING),
        (sid, 1, CallProgress.IN_PROGRESS),
        (sid, 2, CallProgress.COMPLETED),
    ]
    assert [each.duration.seconds if each.duration else None for each in read_calls] == [None, None, 61]


def test_a_notice_for_another_address_or_account_is_refused(books: FakeAccount, fake: FakeTwilio) -> None:
    books.message_url = URL
    books.receive(PHONE, "Hi")
    delivery = fake.notices.waiting[0]
    headers = {name.lower(): value for name, value in delivery.headers.items()}
    with pytest.raises(BadNotice):
        verify(URL.replace("/1/", "/2/"), delivery.body, headers, tokens=(books.token,))
    with pytest.raises(BadNotice):
        verify(URL, delivery.body, headers, tokens=(fake.add_account().token,))
