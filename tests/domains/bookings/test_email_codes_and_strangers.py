"""Strangers can neither use up the tries of a person's code nor, unseen, the codes that the person could be sent."""

from datetime import timedelta

import httpx2
import pytest

from openslot.domains.access.email_codes import HOUR, MAX_TO_RECIPIENT, PAUSE, find_wait, send_code, try_code
from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.domains.bookings.email_codes import EMAIL, FINE, FORM, PAGE, ask, proven, tell
from tests.support.clocks import MONDAY, MovingClock
from tests.support.email_codes import count_codes, read_code

__all__ = ["proven"]

HERE, NEIGHBOR = "93.184.216.34", "93.184.216.99"


def afar(number: int) -> str:
    return f"81.2.{number}.1"


async def send(runtime: Runtime, event_type: EventType, at: str = HERE, email: str = EMAIL) -> timedelta | None:
    return await send_code(runtime, event_type.id, email, host_id=event_type.owner_id, locale=None, from_address=at)


async def test_wrong_codes_of_strangers_leave_a_person_all_tries(runtime: Runtime, proven: EventType) -> None:
    await send(runtime, proven)
    right = await read_code(runtime)
    wrong = [f"{(int(right) + each) % 10**6:06}" for each in range(1, 15)]

    for number, each in enumerate(wrong[:10]):
        assert await try_code(runtime, proven.id, EMAIL, each, from_address=afar(number)) is None
    # All others have five tries together.
    assert await try_code(runtime, proven.id, EMAIL, right, from_address=afar(99)) is None
    for each in wrong[10:]:
        assert await try_code(runtime, proven.id, EMAIL, each, from_address=NEIGHBOR) is None
    assert await try_code(runtime, proven.id, EMAIL, right, from_address=HERE) is not None
    assert await try_code(runtime, proven.id, EMAIL, wrong[0], from_address=HERE) is None
    assert await try_code(runtime, proven.id, EMAIL, right, from_address=HERE) is None


async def test_a_code_can_be_entered_in_another_network(runtime: Runtime, proven: EventType) -> None:
    await send(runtime, proven)
    code = await read_code(runtime)
    assert await try_code(runtime, proven.id, EMAIL, code, from_address=afar(1)) is not None


async def test_codes_that_others_ask_for_leave_a_person_their_own(
    runtime: Runtime, proven: EventType, user: User, clock: MovingClock
) -> None:
    other = await offer(runtime, user, "other", requires_email_verification=True)
    for event_type, at in ((proven, afar(1)), (other, HERE)):
        for _ in range(3):
            assert await send(runtime, event_type, at) is None
            clock.now += PAUSE
        assert await send(runtime, event_type, at) is not None

    assert await send(runtime, proven, HERE) is None
    assert await count_codes(runtime) == 7


async def test_one_mailbox_is_sent_a_dozen_in_an_hour_whoever_asks(
    runtime: Runtime, proven: EventType, clock: MovingClock
) -> None:
    waits = [await send(runtime, proven, afar(number)) for number in range(MAX_TO_RECIPIENT)]
    assert waits == [None] * MAX_TO_RECIPIENT
    # Another spelling of the same mailbox.
    assert await send(runtime, proven, email="Jonas+x@okafor.example") == HOUR
    clock.now += HOUR
    assert await send(runtime, proven) is None


@pytest.mark.parametrize("door", ["api", "page"])
async def test_it_is_said_that_no_code_was_sent_and_when_one_can_be(
    client: httpx2.AsyncClient, runtime: Runtime, proven: EventType, clock: MovingClock, door: str
) -> None:
    async def again() -> httpx2.Response:
        return await (client.post(PAGE, data=FORM) if door == "page" else ask(client, proven))

    sent = await again()
    at_once = await again()
    for _ in range(2):
        clock.now += timedelta(minutes=1)
        assert (await again()).status_code == 403
    clock.now += timedelta(minutes=1)
    enough = await again()

    assert [each.status_code for each in (sent, at_once, enough)] == [403] * 3
    assert [each.headers.get("retry-after") for each in (sent, at_once, enough)] == [None, "30", str(57 * 60)]
    assert ["No new code was sent" in each.text for each in (sent, at_once, enough)] == [False, True, True]
    assert await count_codes(runtime) == 3
    if door == "page":
        assert "Wait 57 minutes" in enough.text
        assert 'autocomplete="one-time-code"' in enough.text
    assert tell(await ask(client, proven, emailCode=await read_code(runtime))) == FINE


def test_the_next_code_is_free_when_the_longest_wait_is_over() -> None:
    minute = timedelta(minutes=1)
    sent = [MONDAY - each * minute for each in (10, 20, 50)]
    assert find_wait([], [], now=MONDAY) is None
    assert find_wait(sent[:2], sent, now=MONDAY) is None
    assert find_wait(sent, sent, now=MONDAY) == 10 * minute
    assert find_wait([], [MONDAY] * MAX_TO_RECIPIENT, now=MONDAY) == HOUR
    assert find_wait([MONDAY], [MONDAY], now=MONDAY) == PAUSE
