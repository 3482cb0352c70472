"""The ledger is exact: over connections and processes, in any window, and with the transaction that spends."""

import asyncio
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as fuzzing
from hypothesis import strategies as st
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.allowances import operations
from openslot.domains.allowances.errors import AllowanceUsed
from openslot.domains.allowances.models import CauseKind, Cost, CostCause, RefusedCost
from openslot.domains.allowances.operations import CLIENT_ADDRESS, causes_of, list_refusals, spend
from openslot.platform.core.actor import PUBLIC, SYSTEM, Actor, ActorKind
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime, Work
from openslot.platform.jobs.periodic import run_job
from openslot.runtime import open_runtime
from tests.support.clocks import MovingClock
from tests.support.forked import Forked

NETWORK = CostCause(kind=CauseKind.NETWORK, name="93.184.216.0/24")


def an_account() -> CostCause:
    return CostCause(kind=CauseKind.ACCOUNT, name=str(uuid4()))


async def try_to_spend(runtime: Runtime, *causes: CostCause, cost: Cost = Cost.MAIL, amount: int = 1) -> bool:
    try:
        await runtime.run(PUBLIC, lambda work: spend(work, cost, causes, amount=amount))
    except AllowanceUsed:
        return False
    return True


async def spent_by(runtime: Runtime, cause: CostCause) -> int:
    found: int = await runtime.pool.fetchval(
        "select coalesce(sum(s), 0) from allowances, unnest(spent) s where bucket like '%' || $1 || '%'", cause.name
    )
    return found


async def test_of_many_at_once_exactly_as_many_pass_as_are_allowed(runtime: Runtime) -> None:
    cause = an_account()

    passed = await asyncio.gather(*(try_to_spend(runtime, cause) for _ in range(60)))

    assert sum(passed) == 20
    assert await spent_by(runtime, cause) == 20


async def spend_in_a_process(url: str, data_dir: str, name: str) -> None:
    from openslot.platform.core.environment import load_settings

    settings = load_settings({"database_url": url, "data_dir": data_dir}, environ={})
    async with open_runtime(settings) as runtime:
        cause = CostCause(kind=CauseKind.ACCOUNT, name=name)
        await asyncio.gather(*(try_to_spend(runtime, cause) for _ in range(30)))


def in_a_process(url: str, data_dir: str, name: str) -> None:
    asyncio.run(spend_in_a_process(url, data_dir, name))


@pytest.mark.rest("lets many write at once")
async def test_two_processes_spend_exactly_what_one_cause_may(runtime: Runtime, settings: Settings) -> None:
    cause = an_account()
    arguments = (str(settings.database_url), str(settings.data_dir), cause.name)
    processes = [Forked(in_a_process, *arguments) for _ in range(2)]

    codes = [await asyncio.to_thread(process.wait, 60) for process in processes]

    assert codes == [0, 0]
    assert await spent_by(runtime, cause) == 20


async def test_causes_named_in_any_order_never_wait_for_each_other(runtime: Runtime) -> None:
    one, other = an_account(), an_account()

    passed = await asyncio.gather(
        *(try_to_spend(runtime, *((one, other) if n % 2 else (other, one))) for n in range(40))
    )

    assert sum(passed) == 20


async def test_what_is_rolled_back_is_not_spent(runtime: Runtime) -> None:
    cause = an_account()

    async def spend_and_fail(work: Work) -> None:
        await spend(work, Cost.MAIL, [cause], amount=20)
        raise LookupError

    with pytest.raises(LookupError):
        await runtime.run(PUBLIC, spend_and_fail)

    assert await try_to_spend(runtime, cause, amount=20)


async def test_a_refusal_spends_nothing_of_any_cause(runtime: Runtime) -> None:
    one, other = an_account(), an_account()
    assert await try_to_spend(runtime, one, amount=20)
    async with runtime.transaction(PUBLIC) as work:
        # Whoever catches it and goes on has not spent for the other.
        with pytest.raises(AllowanceUsed):
            await spend(work, Cost.MAIL, [one, other], amount=5)

    assert await spent_by(runtime, other) == 0
    assert await spent_by(runtime, one) == 20


async def test_more_than_is_ever_allowed_is_refused_at_once(runtime: Runtime) -> None:
    assert not await try_to_spend(runtime, an_account(), amount=21)


async def test_scopes_costs_and_kinds_of_causes_are_counted_apart(runtime: Runtime) -> None:
    cause = an_account()
    async with runtime.transaction(PUBLIC) as work:
        for scope in (None, "a", "b"):
            await spend(work, Cost.MAIL, [cause], amount=20, scope=scope)
        await spend(work, Cost.CODE, [cause], amount=20)
        await spend(work, Cost.MAIL, [replace(cause, kind=CauseKind.NETWORK)], amount=200)

    assert not await try_to_spend(runtime, cause)


DOMAIN = CostCause(kind=CauseKind.MAIL_DOMAIN, name="corp.example")


async def test_a_mail_domain_that_others_have_used_up_refuses_only_networks_that_have_spent_much(
    runtime: Runtime,
) -> None:
    async with runtime.transaction(PUBLIC) as work:
        await spend(work, Cost.TIME, [DOMAIN], amount=40)
    answers = [await try_to_spend(runtime, NETWORK, DOMAIN, cost=Cost.TIME) for _ in range(7)]

    # A quarter of what the network may.
    assert answers == [True] * 5 + [False] * 2
    assert await spent_by(runtime, NETWORK) == 5
    assert await spent_by(runtime, DOMAIN) == 40


async def test_whoever_comes_from_nowhere_is_their_mail_domain(runtime: Runtime) -> None:
    assert await try_to_spend(runtime, DOMAIN, cost=Cost.TIME, amount=40)
    assert not await try_to_spend(runtime, DOMAIN, cost=Cost.TIME)


async def test_a_network_that_has_used_its_own_up_is_refused_whatever_domain_it_names(runtime: Runtime) -> None:
    assert await try_to_spend(runtime, NETWORK, DOMAIN, cost=Cost.TIME, amount=20)
    assert not await try_to_spend(runtime, NETWORK, DOMAIN, cost=Cost.TIME)


class TestWindows:
    """What is free again, and when."""

    async def test_the_refusal_says_in_words_and_seconds_when_there_is_more(
        self,
        runtime: Runtime,
        clock: MovingClock,
    ) -> None:
        cause = an_account()
        await try_to_spend(runtime, cause, amount=15)
        clock.pass_time(hours=5)
        await try_to_spend(runtime, cause, amount=5)
        clock.pass_time(hours=2)
        async with runtime.transaction(PUBLIC) as work:
            with pytest.raises(AllowanceUsed) as refused:
                await spend(work, Cost.MAIL, [cause])

        assert refused.value.message == (
            "Used up: emails to people who have never booked, confirmed or answered (20 within 24 hours, for this "
            "account). Try again in 18 hours"
        )
        assert refused.value.retry_after == 18 * 3600
        clock.pass_time(seconds=refused.value.retry_after - 1)
        assert not await try_to_spend(runtime, cause)
        clock.pass_time(seconds=1)
        assert await try_to_spend(runtime, cause, amount=15)
        assert not await try_to_spend(runtime, cause)

    async def test_a_clock_that_was_ahead_keeps_nobody_out_for_longer_than_a_window(
        self,
        runtime: Runtime,
        clock: MovingClock,
    ) -> None:
        cause = an_account()
        clock.pass_time(days=300)
        await try_to_spend(runtime, cause, amount=20)
        clock.pass_time(days=-300)

        assert await try_to_spend(runtime, cause)

    async def test_a_short_window_counts_in_seconds(self, runtime: Runtime, clock: MovingClock) -> None:
        assert await try_to_spend(runtime, NETWORK, cost=Cost.PROVIDER_READ)
        assert not await try_to_spend(runtime, NETWORK, cost=Cost.PROVIDER_READ)
        clock.pass_time(seconds=5.3)
        assert await try_to_spend(runtime, NETWORK, cost=Cost.PROVIDER_READ)

    @fuzzing(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(steps=st.lists(st.tuples(st.integers(0, 30 * 60), st.integers(1, 12)), max_size=25))
    async def test_never_more_than_is_allowed_in_any_window_and_a_part_later_always_as_much(
        self,
        runtime: Runtime,
        clock: MovingClock,
        steps: list[tuple[int, int]],
    ) -> None:
        cause, given_at = an_account(), list[tuple[int, int]]()
        start = clock()
        for minutes, amount in steps:
            clock.pass_time(minutes=minutes)
            now = (clock() - start) // timedelta(minutes=1)
            within, with_part = (
                sum(each for at, each in given_at if at > now - length) for length in (24 * 60, 25 * 60)
            )
            if await try_to_spend(runtime, cause, amount=amount):
                given_at.append((now, amount))
                assert within + amount <= 20
            else:
                assert with_part + amount > 20

    async def test_what_counts_no_longer_is_removed(self, runtime: Runtime, clock: MovingClock) -> None:
        (tidy,) = operations.ALLOWANCE_JOBS
        await try_to_spend(runtime, an_account())
        clock.pass_time(hours=24)
        assert await run_job(runtime, tidy) == "0 allowances removed"
        clock.pass_time(hours=25)
        assert await run_job(runtime, tidy) == "1 allowances removed"


async def causes(runtime: Runtime, actor: Actor, *, address: str = "", email: str | None = None) -> list[str]:
    token = CLIENT_ADDRESS.set(address)
    try:
        return [f"{each.kind} {each.name}" for each in await causes_of(runtime.work(actor), email=email)]
    finally:
        CLIENT_ADDRESS.reset(token)


async def make_untrusted(runtime: Runtime, user: User) -> None:
    await runtime.pool.execute("update users set plan = 'FREE', signed_up = true where id = $1", user.id)


async def test_a_stranger_is_a_network_and_a_mail_domain(runtime: Runtime) -> None:
    assert await causes(runtime, PUBLIC, address="93.184.216.34", email="eve@mail.spam.shop") == [
        "network 93.184.216.0/24",
        "mail_domain spam.shop",
    ]
    assert await causes(runtime, PUBLIC, address="127.0.0.1", email="eve@gmail.com") == []
    assert await causes(runtime, SYSTEM) == []


async def test_all_credentials_of_an_account_are_one_cause_and_trust_is_enough(runtime: Runtime, user: User) -> None:
    actors = [Actor(kind=kind, user_id=user.id, credential_id=uuid4()) for kind in (ActorKind.KEY, ActorKind.SESSION)]

    for actor in actors:
        assert await causes(runtime, actor, address="93.184.216.34") == [f"account {user.id}"]
    await make_untrusted(runtime, user)
    for actor in actors:
        assert await causes(runtime, actor, address="93.184.216.34") == [
            f"account {user.id}",
            "network 93.184.216.0/24",
        ]


@pytest.mark.parametrize(
    ("change", "sign_up", "is_trusted"),
    [
        ("signed_up = true", "open", False),
        ("signed_up = true", "invitation", False),
        ("signed_up = true, trial_plan = 'BUSINESS', trial_until = now() + interval '1 year'", "open", False),
        ("signed_up = true, plan = 'PRO', plan_until = '2020-01-01'", "open", False),
        ("signed_up = true, plan = 'PRO'", "open", True),
        ("signed_up = true, is_admin = true", "open", True),
        ("signed_up = false", "open", True),
        ("signed_up = null", "open", False),
        ("signed_up = null", "invitation", True),
    ],
)
async def test_who_is_trusted(runtime: Runtime, user: User, change: str, sign_up: str, is_trusted: bool) -> None:
    runtime.settings = replace(runtime.settings, sign_up=sign_up)
    await make_untrusted(runtime, user)
    await runtime.pool.execute(f"update users set {change} where id = $1", user.id)

    found = await operations.find_account(runtime.work(SYSTEM), user.id)

    assert found is not None
    assert found.is_trusted is is_trusted


async def noted_for(runtime: Runtime, user: User, *, refused: int) -> list[RefusedCost]:
    """Wait for what is noted after the transaction that was refused."""
    while True:
        noted = await list_refusals(runtime.work(SYSTEM), user.id)
        if sum(each.refused for each in noted) >= refused:
            assert sum(each.refused for each in noted) == refused
            return noted
        await asyncio.sleep(0.01)


async def test_a_host_is_told_of_refusals_and_metrics_count_them(runtime: Runtime, user: User) -> None:
    await make_untrusted(runtime, user)
    counter = operations.REFUSED.labels("mail", "account")
    before = counter._value.get()
    actor = Actor(kind=ActorKind.KEY, user_id=user.id)

    async def ask(work: Work) -> None:
        await spend(work, Cost.MAIL, await causes_of(work), amount=8)

    for _ in range(2):
        await runtime.run(actor, ask)
    for _ in range(3):
        with pytest.raises(AllowanceUsed):
            await runtime.run(actor, ask)

    noted = await noted_for(runtime, user, refused=3)
    assert [(each.cost, each.cause, each.most) for each in noted] == [(Cost.MAIL, CauseKind.ACCOUNT, 20)]
    assert counter._value.get() - before == 3


async def test_what_is_given_up_without_a_refusal_is_told_and_counted_too(runtime: Runtime, user: User) -> None:
    before = operations.REFUSED.labels("mail", "network")._value.get()
    async with runtime.transaction(PUBLIC) as work:
        answers = [
            await operations.has_spent(work, Cost.MAIL, [NETWORK], scope="x", host_id=user.id, most=2) for _ in range(3)
        ]

    assert answers == [True, True, False]
    assert [(each.cause, each.most) for each in await noted_for(runtime, user, refused=1)] == [(CauseKind.NETWORK, 2)]
    assert operations.REFUSED.labels("mail", "network")._value.get() - before == 1


async def test_a_refusal_of_a_stranger_is_told_to_the_host(runtime: Runtime, user: User) -> None:
    async with runtime.transaction(PUBLIC) as work:
        await spend(work, Cost.TIME, [NETWORK], amount=20, scope=str(user.id), host_id=user.id)
        with pytest.raises(AllowanceUsed):
            await spend(work, Cost.TIME, [NETWORK], scope=str(user.id), host_id=user.id)

    assert [each.cause for each in await noted_for(runtime, user, refused=1)] == [CauseKind.NETWORK]
    assert not await list_refusals(runtime.work(SYSTEM), UUID(int=7))
