"""What a notice says: which object to read anew, for which account, and nothing that may be old."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from openslot.domains.payments.models import Mode
from openslot.vendors.stripe.notices import NoticeRefused, read_notice


def event(object_: dict[str, Any], **changes: Any) -> bytes:
    told = {
        "id": "evt_1",
        "object": "event",
        "type": "checkout.session.completed",
        "created": 1_773_644_400,
        "livemode": False,
        "api_version": "2020-08-27",
        "data": {"object": object_, "previous_attributes": {"status": "open"}},
        **changes,
    }
    return json.dumps(told).encode()


SESSION = {"id": "cs_test_1", "object": "checkout.session", "payment_intent": None, "client_reference_id": "ours"}


def test_a_session_is_named_with_our_own_id() -> None:
    notice = read_notice(event(SESSION), mode=Mode.TEST)

    assert (notice.id, notice.type, notice.mode) == ("evt_1", "checkout.session.completed", Mode.TEST)
    assert notice.created_at == datetime(2026, 3, 16, 7, tzinfo=UTC)
    assert (notice.object_id, notice.session_id, notice.intent_id) == ("cs_test_1", "cs_test_1", None)
    assert notice.reference == "ours"


@pytest.mark.parametrize(
    ("object_", "names"),
    [
        ({"id": "re_1", "object": "refund", "payment_intent": "pi_1"}, {"intent_id": "pi_1"}),
        ({"id": "du_1", "object": "dispute", "payment_intent": {"id": "pi_2"}}, {"intent_id": "pi_2"}),
        (
            {"id": "pi_3", "object": "payment_intent", "metadata": {"openslot_payment": "ours"}},
            {"reference": "ours", "intent_id": None},
        ),
        (
            {"id": "sub_1", "object": "subscription", "customer": "cus_1"},
            {"subscription_id": "sub_1", "customer_id": "cus_1"},
        ),
        (
            {"id": "in_1", "object": "invoice", "parent": {"subscription_details": {"subscription": "sub_2"}}},
            {"subscription_id": "sub_2"},
        ),
        ({"id": "in_2", "object": "invoice", "parent": None}, {"subscription_id": None}),
        ({**SESSION, "subscription": "sub_3"}, {"subscription_id": "sub_3", "session_id": "cs_test_1"}),
        ({"object": "balance"}, {"object_id": "", "session_id": None}),
    ],
    ids=lambda value: str(value.get("object", "")) if isinstance(value, dict) else None,
)
def test_each_kind_of_object_is_named_by_what_leads_to_a_payment(
    object_: dict[str, Any], names: dict[str, str | None]
) -> None:
    notice = read_notice(event(object_), mode=Mode.TEST)

    assert {name: getattr(notice, name) for name in names} == names


@pytest.mark.parametrize(
    "body",
    [
        event(SESSION, livemode=True),
        event(SESSION, object="charge"),
        event(SESSION, id="1; drop"),
        event(SESSION, id="evt_" + "x" * 300),
        event(SESSION, type=""),
        event(SESSION, type=7),
        event(SESSION, data=None),
        event(SESSION, data={}),
        event(SESSION, data={"object": []}),
        b"",
        b"[]",
        b"null",
        b"\xff",
        b"{" * 100_000,
        b'{"id": "evt_1"',
    ],
)
def test_what_is_no_event_for_this_account_is_refused(body: bytes) -> None:
    with pytest.raises(NoticeRefused):
        read_notice(body, mode=Mode.TEST)


def test_an_event_of_the_other_mode_is_refused_both_ways() -> None:
    assert read_notice(event(SESSION, livemode=True), mode=Mode.LIVE).mode is Mode.LIVE
    with pytest.raises(NoticeRefused):
        read_notice(event(SESSION), mode=Mode.LIVE)


def test_a_thin_event_is_refused_by_name() -> None:
    thin = b'{"id": "evt_1", "object": "v2.core.event", "type": "v1.billing.meter.no_meter_found", "livemode": false}'
    for body in (thin, event(SESSION, object="v2.core.event")):
        with pytest.raises(NoticeRefused, match="thin"):
            read_notice(body, mode=Mode.TEST)
