"""Forms that Twilio posts: messages that come in, what became of those that went out, and calls."""

from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import pytest

from openslot.domains.calls.models import CallDirection
from openslot.domains.conversations.models import Channel
from openslot.domains.messaging.models import (
    CallNotice,
    CallProgress,
    DeliveryStatus,
    InboundMessage,
    MediaRef,
    OptOut,
    RefusalReason,
    StatusNotice,
)
from openslot.domains.messaging.ports import BadNotice
from openslot.vendors.twilio.notices import Fields, read_call, read_form, read_inbound, read_status

ACCOUNT, MESSAGE, CALL = "AC" + "a" * 32, "SM" + "b" * 32, "CA" + "c" * 32
PLACE = f"https://api.twilio.com/2010-04-01/Accounts/{ACCOUNT}"
FILE = f"Messages/{MESSAGE}/Media/ME{'d' * 32}"
INBOUND: Fields = {
    "AccountSid": ACCOUNT,
    "MessageSid": MESSAGE,
    "From": "+4915112345678",
    "To": "+4930111222",
    "Body": "Bin gleich da 🙂",
    "NumMedia": "0",
}
STATUS: Fields = {"AccountSid": ACCOUNT, "MessageSid": MESSAGE, "MessageStatus": "delivered"}
VOICE: Fields = {
    "AccountSid": ACCOUNT,
    "CallSid": CALL,
    "From": "+4915112345678",
    "To": "+4930111222",
    "Direction": "inbound",
    "CallStatus": "completed",
    "CallDuration": "75",
    "SequenceNumber": "3",
    "Timestamp": "Mon, 16 Mar 2026 07:00:05 +0000",
    "RecordingUrl": f"{PLACE}/Recordings/RE{'e' * 32}",
}


def test_an_sms_is_read() -> None:
    assert read_inbound(INBOUND) == InboundMessage(
        id=MESSAGE, channel=Channel.SMS, sender="+4915112345678", recipient="+4930111222", body="Bin gleich da 🙂"
    )


def test_a_whatsapp_message_has_its_name_button_and_files() -> None:
    read = read_inbound(
        {
            **INBOUND,
            "From": "whatsapp:+4915112345678",
            "To": "whatsapp:+4930111222",
            "ProfileName": "Jonas",
            "ButtonPayload": "cancel-7",
            "NumMedia": "2",
            "MediaUrl0": f"{PLACE}/{FILE}",
            "MediaContentType0": "Image/JPEG",
            "MediaUrl1": "https://elsewhere.example/steal",
            "MediaContentType1": "image/png",
        }
    )
    assert (read.channel, read.sender, read.recipient) == (Channel.WHATSAPP, "+4915112345678", "+4930111222")
    assert (read.profile_name, read.button_payload) == ("Jonas", "cancel-7")
    # A file elsewhere is none of the account's.
    assert read.media == (MediaRef(ref=FILE, content_type="image/jpeg"),)


@pytest.mark.parametrize(("told", "read"), [("STOP", OptOut.STOP), ("start", OptOut.START), ("HELP", OptOut.HELP)])
def test_an_opt_out_is_what_twilio_says(told: str, read: OptOut) -> None:
    assert read_inbound({**INBOUND, "OptOutType": told}).opt_out is read


def test_a_word_alone_is_no_opt_out_that_twilio_has_handled() -> None:
    assert read_inbound({**INBOUND, "Body": "STOP"}).opt_out is None


@pytest.mark.parametrize(
    "change",
    [{"MessageSid": "../1"}, {"MessageSid": ""}, {"From": ""}, {"From": "messenger:1"}, {"To": "whatsapp:"}],
)
def test_what_is_no_message_is_refused(change: Fields) -> None:
    with pytest.raises(BadNotice):
        read_inbound({**INBOUND, **change})


@pytest.mark.parametrize("count", ["-1", "99999999999999999999", "x", "٣", ""])
def test_a_number_of_files_that_is_none_means_no_files(count: str) -> None:
    assert read_inbound({**INBOUND, "NumMedia": count}).media == ()


def test_a_status_is_read_with_what_its_code_means() -> None:
    assert read_status(STATUS) == StatusNotice(id=MESSAGE, status=DeliveryStatus.DELIVERED)
    assert read_status({**STATUS, "MessageStatus": "failed", "ErrorCode": "63016"}) == StatusNotice(
        id=MESSAGE, status=DeliveryStatus.FAILED, code="63016", reason=RefusalReason.OUTSIDE_WINDOW
    )
    assert read_status({**STATUS, "MessageStatus": "undelivered", "ErrorCode": "39999"}) == StatusNotice(
        id=MESSAGE, status=DeliveryStatus.UNDELIVERED, code="39999", reason=RefusalReason.OTHER
    )


@pytest.mark.parametrize("status", ["received", "receiving", "something new", ""])
def test_a_status_that_is_not_of_ours_tells_nothing(status: str) -> None:
    assert read_status({**STATUS, "MessageStatus": status}) is None


def test_a_call_is_read() -> None:
    assert read_call(VOICE) == CallNotice(
        id=CALL,
        sequence=3,
        sender="+4915112345678",
        recipient="+4930111222",
        direction=CallDirection.INBOUND,
        status=CallProgress.COMPLETED,
        duration=timedelta(seconds=75),
        at=datetime(2026, 3, 16, 7, 0, 5, tzinfo=UTC),
        recording=f"Recordings/RE{'e' * 32}",
    )


@pytest.mark.parametrize(
    ("status", "read"),
    [
        ("initiated", CallProgress.QUEUED),
        ("in-progress", CallProgress.IN_PROGRESS),
        ("busy", CallProgress.BUSY),
        ("no-answer", CallProgress.NO_ANSWER),
        ("canceled", CallProgress.CANCELED),
    ],
)
def test_each_status_of_a_call_is_known(status: str, read: CallProgress) -> None:
    assert read_call({**VOICE, "CallStatus": status, "Direction": "outbound-dial"}).status is read


def test_odd_details_of_a_call_are_left_out() -> None:
    odd = {
        "CallDuration": "x",
        "SequenceNumber": "-1",
        "Timestamp": "yesterday",
        "RecordingUrl": "https://x.example/RE",
    }
    read = read_call({**VOICE, **odd})
    assert (read.duration, read.sequence, read.at, read.recording) == (None, None, None, None)


@pytest.mark.parametrize("change", [{"CallStatus": "?"}, {"CallSid": "CA1"}])
def test_what_is_no_call_is_refused(change: Fields) -> None:
    with pytest.raises(BadNotice):
        read_call({**VOICE, **change})


def test_a_form_of_another_account_is_refused() -> None:
    assert read_form(urlencode(INBOUND).encode(), account=ACCOUNT) == INBOUND
    with pytest.raises(BadNotice, match="another account"):
        read_form(urlencode(INBOUND).encode(), account="AC" + "f" * 32)
