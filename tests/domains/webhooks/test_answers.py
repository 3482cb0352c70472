"""Answers: what every kind of receiver means for a delivery, the slow, the hostile and the absent."""

import asyncio
import ssl
from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.contacts import operations as contacts
from openslot.domains.contacts.schemas import ContactWanted
from openslot.domains.webhooks import operations as webhooks
from openslot.domains.webhooks import reactions
from openslot.domains.webhooks.models import EndpointChanges, EndpointRef, EndpointWanted
from openslot.domains.webhooks.rules import ANSWER_WITHIN
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.outbound import Outbound, OutboundRefused, Resolver
from openslot.platform.core.text import EmailAddress, Name
from openslot.platform.core.work import Runtime
from openslot.platform.i18n import say
from openslot.runtime import open_runtime
from tests.domains.webhooks.conftest import Add, Happen, deliveries, planned_jobs, states
from tests.support.clocks import MovingClock
from tests.support.effects import next_try, run_attempt, work_off
from tests.support.parts import LONG
from tests.support.peers import PUBLIC, Identity, Internet, Names, serve
from tests.support.ports import held_port
from tests.support.receiver import Receiver, hang_up, receiving, say_nothing, tarpit


@pytest.mark.parametrize(
    ("header", "least", "max_"),
    [
        ("3600", timedelta(hours=1), timedelta(hours=1)),
        ("999999999", timedelta(hours=24), timedelta(hours=24)),
        ("1", timedelta(seconds=4.5), timedelta(seconds=5.5)),
        ("date", timedelta(minutes=10), timedelta(minutes=10)),
        ("soon", timedelta(seconds=4.5), timedelta(seconds=5.5)),
    ],
)
async def test_what_the_endpoint_wishes_for_is_honoured_up_to_a_day_and_never_shortens_the_schedule(
    runtime: Runtime,
    clock: MovingClock,
    receiver: Receiver,
    add: Add,
    happen: Happen,
    header: str,
    least: timedelta,
    max_: timedelta,
) -> None:
    said = format_datetime(clock.now + timedelta(minutes=10), usegmt=True) if header == "date" else header
    receiver.answer(429, f"Retry-After: {said}")
    await add(receiver.url)
    await happen()
    await work_off(runtime, clock)

    due = await next_try(runtime)
    assert due is not None
    assert least <= due - clock.now <= max_


async def test_a_redirect_is_a_failure_and_is_not_followed(
    runtime: Runtime, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    async with receiving() as elsewhere:
        receiver.answer(307, f"Location: {elsewhere.url}")
        await add(receiver.url)
        await happen()
        await work_off(runtime, clock)

        (tried,) = await deliveries(runtime)
        assert (tried["status"], tried["error"]) == (307, "The endpoint answered 307; redirects are not followed.")
        assert elsewhere.got == []


async def test_a_huge_answer_counts_and_its_first_kilobyte_is_kept(
    runtime: Runtime, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    receiver.answer(200, body=b"x" * 5_000_000)
    await add(receiver.url)
    await happen()
    await work_off(runtime, clock)

    (tried,) = await deliveries(runtime)
    assert (tried["status"], tried["error"], tried["answer"]) == (200, None, b"x" * 1024)


async def test_one_who_hangs_up_and_one_who_is_not_there_have_failed(
    runtime: Runtime, clock: MovingClock, add: Add, happen: Happen
) -> None:
    with held_port() as port:
        away = f"http://127.0.0.1:{port}/hook"
        await check_both_have_failed(runtime, clock, add, happen, away)


async def check_both_have_failed(runtime: Runtime, clock: MovingClock, add: Add, happen: Happen, away: str) -> None:
    async with receiving(hang_up) as rude:
        await add(rude.url)
        await add(away)
        await happen()
        await work_off(runtime, clock)

    errors = {one["url"]: say(one["error"]) for one in await deliveries(runtime)}
    assert errors[rude.url].startswith("127.0.0.1 ")
    assert errors[away].startswith("Can't connect to ")
    assert await states(runtime) == ["queued", "queued"]


def test_an_endpoint_has_15_seconds_to_answer() -> None:
    assert timedelta(seconds=15) == ANSWER_WITHIN


@pytest.mark.rest("waits for seconds")
async def test_one_who_never_ends_and_one_who_never_begins_have_failed_when_the_time_is_over(
    runtime: Runtime, add: Add, happen: Happen, monkeypatch: pytest.MonkeyPatch
) -> None:
    within = ANSWER_WITHIN if LONG else timedelta(seconds=1)
    monkeypatch.setattr(reactions, "ANSWER_WITHIN", within)
    async with receiving(tarpit) as pit, receiving(say_nothing) as silent:
        await add(pit.url)
        await add(silent.url)
        await happen()
        await run_attempt(runtime, (await planned_jobs(runtime))[0])
        await asyncio.gather(*(run_attempt(runtime, job) for job in await planned_jobs(runtime)))

    tried = await deliveries(runtime)
    assert {say(one["error"]) for one in tried} == {"127.0.0.1 took too long to answer."}
    waited = [timedelta(milliseconds=one["duration_ms"]) for one in tried]
    assert all(timedelta(milliseconds=-100) <= each - within < timedelta(seconds=10) for each in waited)
    assert await states(runtime) == ["queued", "queued"]


class Nobody:
    """A resolver that knows no name."""

    async def resolve(self, host: str) -> tuple[()]:
        """Know nothing."""
        raise OSError(f"no {host}")


async def test_a_name_that_nobody_knows_has_failed(settings: Settings, clock: MovingClock, user: User) -> None:
    async with open_runtime(settings, clock=clock, fakes={Resolver: Nobody()}) as runtime:
        async with runtime.transaction(OPERATOR) as work:
            await webhooks.add_endpoint(work, user, EndpointWanted(url="https://hooks.example.org/"))
            wanted = ContactWanted(name=Name("Noor Haddad"), email=EmailAddress("noor@haddad.example"))
            await contacts.add_contact(work, user, wanted)
        await work_off(runtime, clock)

        (tried,) = await deliveries(runtime)
        assert (tried["status"], say(tried["error"])) == (None, "hooks.example.org could not be resolved.")
        assert await states(runtime) == ["queued"]


async def test_a_certificate_that_nobody_vouches_for_has_failed(
    runtime: Runtime, clock: MovingClock, add: Add, happen: Happen, tmp_path: Path
) -> None:
    identity = Identity(tmp_path)
    names = Names([PUBLIC])
    async with serve() as canary, serve(tls=identity.server) as public:
        internet = Internet(canary=canary, public=public, names=names)
        runtime.outbound = Outbound(resolver=names, connector=internet, tls=ssl.create_default_context())
        await add("https://hooks.example.org/")
        await happen()
        await work_off(runtime, clock)

        (tried,) = await deliveries(runtime)
        assert say(tried["error"]).startswith("No secure connection to hooks.example.org")
        assert public.requests == []


@pytest.mark.parametrize(
    "url", ["http://10.0.0.1/", "https://169.254.169.254/", "https://localhost/", "ftp://a.example/"]
)
async def test_a_private_address_is_refused_when_it_is_saved(
    runtime: Runtime, add: Add, receiver: Receiver, url: str
) -> None:
    endpoint, _ = await add(receiver.url)
    runtime.outbound = Outbound()

    with pytest.raises(OutboundRefused):
        await add(url)
    with pytest.raises(OutboundRefused):
        async with runtime.transaction(OPERATOR) as work:
            await webhooks.change_endpoint(work, EndpointRef(endpoint.id), EndpointChanges(url=url))


@pytest.mark.rest("waits for seconds")
async def test_a_name_that_turns_to_a_private_address_is_refused_when_it_is_delivered(
    runtime: Runtime, clock: MovingClock, add: Add, happen: Happen
) -> None:
    names = Names([PUBLIC], ["127.0.0.1"], ["10.0.0.7", PUBLIC])
    async with serve() as canary, serve() as public:
        internet = Internet(canary=canary, public=public, names=names)
        runtime.outbound = Outbound(resolver=names, connector=internet)
        await add("https://hooks.example.org:8443/")
        await happen()
        for _ in range(3):
            await work_off(runtime, clock)
            clock.pass_time(hours=1)

        tried = await deliveries(runtime)
        assert [say(one["error"]) for one in tried[1:]] == ["The URL leads to an address that is not public."] * 2
        assert canary.connections == 0
