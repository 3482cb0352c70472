"""Notices of a gateway: forged, replayed, late and oversized ones are refused; the others are read."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

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
from openslot.domains.webhooks.rules import new_secret, signed_headers
from openslot.platform.core.ids import new_id
from openslot.vendors.gateway.notices import MAX_BYTES, NoticeRead, read_notice

NOW = datetime(2026, 3, 16, 7, 0, tzinfo=UTC)
SECRET, SECOND, FOREIGN = new_secret(), new_secret(), new_secret()
INBOUND = {"id": "m-1", "channel": "sms", "from": "+4915112345678", "to": "+4930111222", "body": "Ja 🙂"}


def write(type_: str, data: dict[str, Any]) -> bytes:
    return json.dumps({"type": type_, "data": data}).encode()


def read(
    body: bytes, *, signed_with: str = SECRET, signed_at: datetime = NOW, change: dict[str, str] | None = None
) -> NoticeRead:
    headers = signed_headers(new_id(), body, secrets=(signed_with,), at=signed_at)
    return read_notice({**headers, **(change or {})}, body, secrets=(SECRET, SECOND), now=NOW)


def test_a_message_is_read() -> None:
    more = {
        "media": [{"ref": "f/1", "contentType": "Image/PNG"}],
        "optOut": "stop",
        "buttonPayload": "b",
        "profileName": "Jonas",
        "at": "2026-03-16T08:00:00+01:00",
    }
    assert read(write("message.received", {**INBOUND, **more})) == InboundMessage(
        id="m-1",
        channel=Channel.SMS,
        sender="+4915112345678",
        recipient="+4930111222",
        body="Ja 🙂",
        media=(MediaRef(ref="f/1", content_type="image/png"),),
        opt_out=OptOut.STOP,
        button_payload="b",
        profile_name="Jonas",
        at=NOW,
    )


def test_a_status_and_a_call_are_read() -> None:
    told = {"id": "m-1", "status": "undelivered", "code": "17", "reason": "invalid_number"}
    assert read(write("message.status", told)) == StatusNotice(
        id="m-1", status=DeliveryStatus.UNDELIVERED, code="17", reason=RefusalReason.INVALID_NUMBER
    )
    call = {
        "id": "c-1",
        "from": "+49151",
        "to": "+4930",
        "direction": "inbound",
        "status": "completed",
        "durationSeconds": 75,
        "agentName": "Ava",
        "transcript": "t/1",
        "recording": "r/1",
        "sequence": 2,
    }
    assert read(write("call.updated", call)) == CallNotice(
        id="c-1",
        sequence=2,
        sender="+49151",
        recipient="+4930",
        direction=CallDirection.INBOUND,
        status=CallProgress.COMPLETED,
        duration=timedelta(seconds=75),
        recording="r/1",
        agent_name="Ava",
        transcript="t/1",
    )


def test_both_secrets_are_valid_while_one_is_replaced_and_no_other() -> None:
    body = write("message.received", INBOUND)
    assert read(body, signed_with=SECRET) == read(body, signed_with=SECOND)
    with pytest.raises(BadNotice, match="not valid"):
        read(body, signed_with=FOREIGN)


@pytest.mark.parametrize("late", [timedelta(minutes=5, seconds=1), timedelta(days=1), -timedelta(minutes=5, seconds=1)])
def test_a_notice_of_another_time_is_refused(late: timedelta) -> None:
    body = write("message.received", INBOUND)
    assert read(body, signed_at=NOW - timedelta(minutes=5)) == read(body, signed_at=NOW + timedelta(minutes=5))
    with pytest.raises(BadNotice, match="too old, or from the future"):
        read(body, signed_at=NOW - late)


@pytest.mark.parametrize(
    "change",
    [
        {"webhook-timestamp": str(int(NOW.timestamp()) + 1)},
        {"webhook-timestamp": ""},
        {"webhook-timestamp": "1e9"},
        {"webhook-id": "other"},
        {"webhook-id": ""},
        {"webhook-signature": ""},
        {"webhook-signature": "v1,AAAA v1a,BBBB x"},
        {"webhook-signature": "v1," + "ä" * 44},
        {"webhook-signature": "v1,A " * 2000},
    ],
)
def test_a_forged_or_replayed_header_is_refused(change: dict[str, str]) -> None:
    with pytest.raises(BadNotice):
        read(write("message.received", INBOUND), change=change)


def test_another_body_is_refused() -> None:
    body = write("message.received", INBOUND)
    headers = signed_headers(new_id(), body, secrets=(SECRET,), at=NOW)
    for other in (body + b" ", b"", b"\xff" + body):
        with pytest.raises(BadNotice):
            read_notice(headers, other, secrets=(SECRET,), now=NOW)


def test_a_body_that_is_too_long_is_refused_even_if_signed() -> None:
    with pytest.raises(BadNotice, match="too long"):
        read(write("message.received", {**INBOUND, "body": "a" * MAX_BYTES}))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "not JSON"),
        (b"[]", "object"),
        (b'{"type": "message.lost", "data": {}}', "type must be"),
        (write("message.received", {**INBOUND, "channel": "fax"}), "channel"),
        (write("message.received", {**INBOUND, "id": ""}), "id"),
        (write("message.received", {**INBOUND, "at": "2026-03-16T08:00:00"}), "at"),
        (write("message.received", {**INBOUND, "media": [{"ref": "x"}] * 11}), "media"),
        (write("message.status", {"id": "m-1"}), "status"),
    ],
)
def test_what_is_no_notice_is_refused_with_the_field(body: bytes, reason: str) -> None:
    with pytest.raises(BadNotice, match=reason):
        read(body)
