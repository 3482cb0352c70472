"""What every message provider promises: one suite for Twilio's adapter and the gateway's."""

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest
from msgspec.structs import replace

from openslot.domains.conversations.models import Channel
from openslot.domains.messaging.connections.models import ConnectionChannel
from openslot.domains.messaging.models import DeliveryStatus, NumberState, RefusalReason
from openslot.domains.messaging.ports import (
    MediaRefused,
    MessageFault,
    MessageRefused,
    MessagesBusy,
    MessagesUnavailable,
    TokenRefused,
)
from openslot.domains.webhooks.rules import new_secret
from tests.support.clocks import MovingClock
from tests.support.fake_server import Fault, FaultKind
from tests.vendors.messaging.support import LIMITS, MESSAGE, NUMBER, PHONE, SINCE, TEMPLATE, Peer

OTHER_ID = UUID("018f0000-0000-7000-8000-000000000002")
OTHER_TOKENS = {"twilio": "f" * 32, "gateway": new_secret()}
WHATSAPP = replace(MESSAGE, channel=Channel.WHATSAPP)


async def test_a_good_account_and_number_are_told_without_sending(peer: Peer) -> None:
    found = await peer.account.check(channel=ConnectionChannel.SMS, number=NUMBER)
    assert (bool(found.account_name), found.number) == (True, NumberState.READY)
    assert (await peer.account.check(channel=ConnectionChannel.SMS, number=NUMBER[:-1])).number is NumberState.MISSING
    assert peer.sent() == []


async def test_a_wrong_token_is_refused_for_everything(peer: Peer, request: pytest.FixtureRequest) -> None:
    other = peer.open_with(OTHER_TOKENS[request.node.callspec.params["peer"]])
    for ask in (
        lambda: other.check(channel=ConnectionChannel.SMS, number=NUMBER),
        lambda: other.send(MESSAGE),
        lambda: other.get_status("SM" + "0" * 32),
        lambda: other.delete_message("SM" + "0" * 32),
    ):
        with pytest.raises(TokenRefused):
            await ask()
    await other.close()
    assert peer.sent() == []


@pytest.mark.parametrize("token", ["", "short", "with space and more words", "whsec_", "whsec_AAAA", "ä" * 32])
async def test_what_can_be_no_token_is_refused_before_anything_is_asked(peer: Peer, token: str) -> None:
    with pytest.raises(TokenRefused):
        peer.open_with(token)
    assert peer.asked == []


async def test_a_message_is_sent_once_with_its_very_text(peer: Peer) -> None:
    sent = await peer.account.send(MESSAGE)
    assert (sent.status, sent.code, sent.reason) == (DeliveryStatus.QUEUED, None, None)
    assert peer.sent() == [(PHONE, MESSAGE.body)]
    assert len(peer.asked) == 1


async def test_a_status_is_read_by_id(peer: Peer) -> None:
    sent = await peer.account.send(MESSAGE)
    for status in ("sent", "delivered"):
        peer.settle(sent.id, status)
        assert (await peer.account.get_status(sent.id)).status == status


async def test_a_message_that_is_not_there_is_not_found(peer: Peer) -> None:
    for id_ in ("SM" + "0" * 32, "../../x", "a?b#c"):
        with pytest.raises(MessageRefused) as refused:
            await peer.account.get_status(id_)
        assert refused.value.reason is RefusalReason.NOT_FOUND


async def test_a_template_is_sent_to_whom_has_not_written(peer: Peer) -> None:
    await peer.account.send(replace(WHATSAPP, body=None, template=TEMPLATE))
    assert peer.sent() == [(f"whatsapp:{PHONE}", "Hello Jonas, see you at 10:00.")]


@pytest.mark.parametrize(("hours", "is_open"), [(None, False), (25, False), (23, True)])
async def test_whatsapp_is_open_for_a_day_after_the_last_message(
    peer: Peer, clock: MovingClock, hours: int | None, is_open: bool
) -> None:
    if hours is not None:
        peer.hear_from(PHONE, clock.now - timedelta(hours=hours))
    try:
        sent = await peer.account.send(WHATSAPP)
        clock.pass_time(seconds=2)
        reason = (await peer.account.get_status(sent.id)).reason
    except MessageRefused as refused:
        reason = refused.reason

    assert reason is (None if is_open else RefusalReason.OUTSIDE_WINDOW)


async def test_who_has_opted_out_gets_nothing(peer: Peer) -> None:
    peer.opt_out(PHONE)
    with pytest.raises(MessageRefused) as refused:
        await peer.account.send(MESSAGE)
    assert refused.value.reason is RefusalReason.OPTED_OUT
    assert refused.value.code
    assert peer.sent() == []


async def test_a_bad_number_and_a_foreign_sender_are_told_apart(peer: Peer) -> None:
    peer.end(PHONE)
    with pytest.raises(MessageRefused) as refused:
        await peer.account.send(MESSAGE)
    assert refused.value.reason is RefusalReason.INVALID_NUMBER
    with pytest.raises(MessageRefused) as refused:
        await peer.account.send(replace(MESSAGE, sender="+4930999999", recipient="+4915100000000"))
    assert refused.value.reason is RefusalReason.NOT_ALLOWED


async def test_no_fault_repeats_a_secret_a_number_or_the_text(peer: Peer) -> None:
    peer.end(PHONE)
    faults: list[MessageFault] = []
    for fault in (None, Fault(FaultKind.STATUS, status=500), Fault(FaultKind.HANG_UP)):
        if fault:
            peer.fail_next(fault)
        with pytest.raises(MessageFault) as raised:
            await peer.account.send(MESSAGE)
        faults.append(raised.value)
    told = " ".join(f"{each} {each!r} {vars(each)}" for each in faults)
    for secret in (*peer.list_secrets(), PHONE, NUMBER, "bis morgen"):
        assert secret not in told


async def test_a_message_whose_time_is_over_is_not_asked_for(peer: Peer) -> None:
    for validity in (timedelta(), timedelta(seconds=0.9), -timedelta(minutes=1)):
        with pytest.raises(MessageRefused):
            await peer.account.send(replace(MESSAGE, validity=validity))
    assert peer.asked == []


@pytest.mark.parametrize(
    "fault",
    [
        Fault(FaultKind.HANG_UP),
        Fault(FaultKind.LOSE_ANSWER),
        Fault(FaultKind.STATUS, status=500),
        Fault(FaultKind.STATUS, status=503),
        Fault(FaultKind.STATUS, status=408),
        Fault(FaultKind.STATUS, status=302, headers={"Location": "http://127.0.0.1:1/"}),
        Fault(FaultKind.RAW, status=200, body=b"<html>"),
        Fault(FaultKind.RAW, status=200, body=b'{"sid": 1}'),
        Fault(FaultKind.RAW, status=200, body=b"x" * 3_000_000),
    ],
    ids=lambda fault: f"{fault.kind} {fault.status} {len(fault.body)}",
)
async def test_after_an_answer_that_says_nothing_the_message_may_have_arrived(peer: Peer, fault: Fault) -> None:
    peer.fail_next(fault)
    with pytest.raises(MessagesUnavailable) as raised:
        await peer.account.send(MESSAGE)
    assert raised.value.may_have_arrived
    assert len(peer.asked) == 1


async def test_without_a_connection_nothing_has_arrived(peer: Peer) -> None:
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    account = peer.open_with(peer.list_secrets()[0], url=f"http://127.0.0.1:{port}")
    with pytest.raises(MessagesUnavailable) as raised:
        await account.send(MESSAGE)
    await account.close()
    assert not raised.value.may_have_arrived


async def test_too_many_requests_are_told_with_the_wait(peer: Peer) -> None:
    peer.fail_next(Fault(FaultKind.STATUS, status=429, headers={"Retry-After": "7"}))
    peer.fail_next(Fault(FaultKind.STATUS, status=429))
    for wait in (timedelta(seconds=7), None):
        with pytest.raises(MessagesBusy) as busy:
            await peer.account.send(MESSAGE)
        assert busy.value.after == wait
    assert peer.sent() == []


async def test_a_lost_answer_is_found_and_what_was_never_sent_is_not(peer: Peer, clock: MovingClock) -> None:
    peer.fail_next(Fault(FaultKind.HANG_UP))
    with pytest.raises(MessagesUnavailable):
        await peer.account.send(MESSAGE)
    clock.pass_time(seconds=10)
    assert await peer.account.find_sent(MESSAGE, since=SINCE) is None

    peer.fail_next(Fault(FaultKind.LOSE_ANSWER))
    with pytest.raises(MessagesUnavailable):
        await peer.account.send(MESSAGE)
    clock.pass_time(seconds=10)
    found = await peer.account.find_sent(MESSAGE, since=SINCE)
    assert found is not None
    assert await peer.account.get_status(found.id) == found
    assert len(peer.sent()) == 1


async def test_the_same_text_that_was_sent_before_is_not_taken_for_it(peer: Peer, clock: MovingClock) -> None:
    before = await peer.account.send(MESSAGE)
    again = replace(MESSAGE, id=OTHER_ID)
    clock.pass_time(seconds=10)
    assert await peer.account.find_sent(again, since=SINCE, known={before.id}) is None

    peer.fail_next(Fault(FaultKind.LOSE_ANSWER))
    with pytest.raises(MessagesUnavailable):
        await peer.account.send(again)
    clock.pass_time(seconds=10)
    found = await peer.account.find_sent(again, since=SINCE, known={before.id})
    assert found is not None
    assert found.id != before.id


async def test_a_file_is_fetched_within_the_limits(peer: Peer) -> None:
    sent = await peer.account.send(MESSAGE)
    ref = peer.add_file(sent.id, b"\x89PNG", "Image/PNG; charset=binary")
    fetched = await peer.account.fetch_media(ref, limits=LIMITS)
    assert (fetched.content, fetched.content_type) == (b"\x89PNG", "image/png")

    exact = peer.add_file(sent.id, b"x" * 1000, "image/png")
    assert len((await peer.account.fetch_media(exact, limits=LIMITS)).content) == 1000


@pytest.mark.parametrize(
    ("content", "content_type"), [(b"x" * 1001, "image/png"), (b"x", "text/html"), (b"x", ""), (b"x", "image")]
)
async def test_a_file_beyond_the_limits_is_refused(peer: Peer, content: bytes, content_type: str) -> None:
    sent = await peer.account.send(MESSAGE)
    ref = peer.add_file(sent.id, content, content_type)
    with pytest.raises(MediaRefused):
        await peer.account.fetch_media(ref, limits=LIMITS)


async def test_a_message_is_deleted_with_its_files_once_it_has_arrived(peer: Peer) -> None:
    sent = await peer.account.send(MESSAGE)
    ref = peer.add_file(sent.id, b"x", "image/png")
    with pytest.raises(MessagesBusy):
        await peer.account.delete_message(sent.id)

    peer.settle(sent.id, "delivered")
    await peer.account.delete_message(sent.id)
    assert (peer.sent(), peer.has_file(ref)) == ([], False)
    with pytest.raises(MessageRefused) as refused:
        await peer.account.fetch_media(ref, limits=LIMITS)
    assert refused.value.reason is RefusalReason.NOT_FOUND
    # What is gone already is no fault.
    await peer.account.delete_message(sent.id)
    await peer.account.delete_media(ref)


async def test_a_call_is_told_step_by_step_and_every_provider_says_the_same(peer: Peer, clock: MovingClock) -> None:
    ref = peer.add_recording(b"ID3")
    told = await peer.ring("ringing", "in_progress", "completed", seconds=42, recording=ref)

    assert len({each.id for each in told}) == 1
    assert [each.status for each in told] == ["ringing", "in_progress", "completed"]
    assert [each.sequence for each in told] == [0, 1, 2]
    assert {(each.sender, each.recipient, each.direction) for each in told} == {(PHONE, NUMBER, "inbound")}
    assert {each.at for each in told} == {clock.now.replace(microsecond=0)}
    last = told[-1]
    assert (last.duration, last.recording) == (timedelta(seconds=42), ref)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [("busy", "no_answer"), ("no_answer", "no_answer"), ("canceled", "failed"), ("failed", "failed")],
)
async def test_a_call_that_nobody_answered_ends_alike(peer: Peer, status: str, outcome: str) -> None:
    (told,) = await peer.ring(status, seconds=0, recording=peer.add_recording(b""))

    assert told.status.outcome == outcome


async def test_a_recording_is_fetched_within_the_limits_and_deleted(peer: Peer) -> None:
    ref = peer.add_recording(b"ID3")
    fetched = await peer.account.fetch_media(ref, limits=LIMITS)
    assert (fetched.content, fetched.content_type) == (b"ID3", "audio/mpeg")
    with pytest.raises(MediaRefused):
        await peer.account.fetch_media(peer.add_recording(b"x" * 1001), limits=LIMITS)

    kept = peer.add_recording(b"ID3")
    await peer.account.delete_media(kept)
    assert not peer.has_file(kept)
    await peer.account.delete_media(kept)


async def test_a_number_for_calls_is_checked_for_calls(peer: Peer) -> None:
    assert (await peer.account.check(channel=ConnectionChannel.VOICE, number=NUMBER)).number is NumberState.READY
