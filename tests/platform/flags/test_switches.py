"""The kill switch: which channels it stops, who did it and why, and that it is read anew each time."""

import asyncio

import msgspec
import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.actor import OPERATOR, Actor, ActorKind
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime, Waits
from openslot.platform.flags.models import OutgoingChannel
from openslot.platform.flags.switches import operations as switches
from openslot.platform.flags.switches import store as switch_store
from tests.support.switches import resume, status, stop

SMS, WHATSAPP, VOICE, EMAIL = OutgoingChannel


async def stopped(runtime: Runtime) -> set[OutgoingChannel]:
    return {channel for channel, each in (await status(runtime)).items() if each.stop is not None}


async def facts(runtime: Runtime) -> list[tuple[str, object]]:
    rows = await runtime.pool.fetch("select type, fact from events where type like 'messaging.%' order by no")
    return [(row["type"], msgspec.json.decode(row["fact"])) for row in rows]


async def test_nothing_is_stopped_at_first(runtime: Runtime) -> None:
    assert list(await status(runtime)) == [SMS, WHATSAPP, VOICE, EMAIL]
    assert await stopped(runtime) == set()


async def test_all_means_every_channel_but_email(runtime: Runtime) -> None:
    await stop(runtime, "all")
    assert await stopped(runtime) == {SMS, WHATSAPP, VOICE}

    await stop(runtime, "email")
    assert await stopped(runtime) == {SMS, WHATSAPP, VOICE, EMAIL}

    await resume(runtime, "all")
    assert await stopped(runtime) == {EMAIL}

    await resume(runtime, "email")
    assert await stopped(runtime) == set()


async def test_who_stopped_it_when_and_why(runtime: Runtime, admin: User) -> None:
    actor = Actor(kind=ActorKind.SESSION, user_id=admin.id)
    found = (await stop(runtime, "sms", reason=" wrong texts ", actor=actor))[SMS].stop

    assert found is not None
    assert (found.actor, found.user_name, found.reason) == (actor, "Ada Admin", "wrong texts")
    assert found.at <= runtime.clock()


async def test_a_channel_that_is_stopped_keeps_its_first_reason_and_is_told_once(runtime: Runtime) -> None:
    await stop(runtime, "sms", reason="first")
    found = await stop(runtime, "all", reason="second")
    await resume(runtime, "whatsapp", reason="third")
    await resume(runtime, "whatsapp", reason="fourth")

    assert [each.stop.reason if each.stop else None for each in found.values()] == ["first", "second", "second", None]
    assert await facts(runtime) == [
        ("messaging.stopped", {"channels": ["sms"], "reason": "first"}),
        ("messaging.stopped", {"channels": ["whatsapp", "voice"], "reason": "second"}),
        ("messaging.resumed", {"channels": ["whatsapp"], "reason": "third", "waiting": 0}),
    ]


@pytest.mark.parametrize(
    ("channel", "reason", "field"),
    [
        ("sms", "", "reason"),
        ("sms", "  ", "reason"),
        ("sms", "x" * 501, "reason"),
        ("sms", "a\nb", "reason"),
        ("fax", "a loop", "channel"),
        ("", "a loop", "channel"),
        ("SMS", "a loop", "channel"),
    ],
)
async def test_channel_and_reason_are_checked(runtime: Runtime, channel: str, reason: str, field: str) -> None:
    for change in (stop, resume):
        with pytest.raises(Invalid) as refused:
            await change(runtime, channel, reason=reason)
        assert list(refused.value.details or {}) == [field]
    assert await stopped(runtime) == set()


async def test_a_stop_is_seen_at_once_and_only_for_its_channel(runtime: Runtime) -> None:
    work = runtime.work(OPERATOR)
    assert await switches.find_stop(work, EMAIL) is None
    await stop(runtime, "email")
    assert await switches.find_stop(work, EMAIL) == Waits("email")
    assert await switches.find_stop(work, SMS) is None
    await resume(runtime, "email")
    assert await switches.find_stop(work, EMAIL) is None


async def test_all_who_ask_at_once_share_a_statement(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    list_stopped = switch_store.list_stopped

    async def count(db: object) -> list[str]:
        nonlocal asked
        asked += 1
        return await list_stopped(db)  # type: ignore[arg-type]

    monkeypatch.setattr(switch_store, "list_stopped", count)
    await stop(runtime, "voice")
    work = runtime.work(OPERATOR)
    found = await asyncio.gather(*(switches.find_stop(work, each) for each in [VOICE, EMAIL] * 25))

    assert found == [Waits("voice"), None] * 25
    assert asked == 1
