"""Access tokens are renewed by one process at a time; a consent that has ended is asked for once and never again."""

import asyncio
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.oauth import operations as oauth
from openslot.domains.oauth.models import ConsentNeeded, OAuthUnreachable
from openslot.domains.oauth.operations import GrantTokens
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.environment import load_settings
from openslot.platform.core.work import Runtime, system_clock
from openslot.runtime import open_runtime
from tests.support.clocks import MovingClock
from tests.support.fake_google import FakeGoogle, Fault, FaultKind
from tests.support.forked import Forked
from tests.support.google_host import EMAIL, LOOPBACK, allow

WORKERS = 8


@pytest.fixture
async def grant_id(runtime: Runtime, user: User, google: FakeGoogle) -> UUID:
    """Keep what the host has allowed."""
    consent, kept_as = await allow(runtime, user, google), uuid4()
    async with runtime.transaction(OPERATOR) as work:
        await oauth.keep_grant(work, user, kept_as, consent)
    return kept_as


async def state_of(runtime: Runtime, grant_id: UUID) -> str:
    found: str = await runtime.pool.fetchval("select state from oauth_grants where id = $1", grant_id)
    return found


async def test_a_token_is_used_until_shortly_before_its_end(
    runtime: Runtime, clock: MovingClock, google: FakeGoogle, grant_id: UUID
) -> None:
    tokens = GrantTokens(runtime, grant_id)
    first = await tokens.get()
    clock.pass_time(minutes=58)
    assert (await tokens.get(), google.consents.refreshes) == (first, 0)
    clock.pass_time(minutes=1)

    second = await tokens.get()

    assert (second != first, google.consents.refreshes) == (True, 1)
    assert google.consents.find_access(second) is not None


@pytest.mark.rest("lets several write at once, as the pairs of writers do")
@pytest.mark.parametrize("rotates", [False, True])
async def test_eight_workers_ask_for_one_token_and_lose_none(
    runtime: Runtime, clock: MovingClock, google: FakeGoogle, grant_id: UUID, *, rotates: bool
) -> None:
    google.consents.rotates = rotates
    for times in range(1, 4):
        clock.pass_time(hours=2)
        release = asyncio.Event()
        google.faults.append(Fault(FaultKind.HOLD, "/token", release=release))
        asking = [asyncio.create_task(GrantTokens(runtime, grant_id).get()) for _ in range(WORKERS)]
        await asyncio.sleep(0.3)
        assert not any(task.done() for task in asking)
        release.set()
        given = set(await asyncio.gather(*asking))

        assert google.consents.refreshes == times
        assert len(given) == 1
        assert google.consents.find_access(given.pop()) is not None


def ask_for_token(url: str, data_dir: str, google_url: str, grant_id: str, answer: str) -> None:
    """Ask for a token in a process of its own, and write it into a file."""
    asyncio.run(_ask_for_token(url, data_dir, google_url, UUID(grant_id), Path(answer)))


async def _ask_for_token(url: str, data_dir: str, google_url: str, grant_id: UUID, answer: Path) -> None:
    google = FakeGoogle(system_clock)
    google.url = google_url
    given = {"database_url": url, "data_dir": Path(data_dir), "log_level": "error", "outbound_allow": LOOPBACK}
    async with open_runtime(google.configure(load_settings(given, environ={}))) as runtime:
        answer.with_suffix(".begun").touch()
        token = await GrantTokens(runtime, grant_id).get()
    answer.with_suffix(".token").write_text(token)


@pytest.mark.rest("starts processes or databases of its own")
@pytest.mark.parametrize("rotates", [False, True])
async def test_eight_processes_ask_for_one_token_and_lose_none(
    settings: Settings, google: FakeGoogle, grant_id: UUID, tmp_path: Path, *, rotates: bool
) -> None:
    google.consents.rotates = rotates
    release = asyncio.Event()
    google.faults.append(Fault(FaultKind.HOLD, "/token", release=release))
    common = (settings.database_url or "", str(settings.data_dir), google.url, str(grant_id))
    processes = [Forked(ask_for_token, *common, str(tmp_path / str(number))) for number in range(WORKERS)]
    try:
        async with asyncio.timeout(120):
            while len(list(tmp_path.glob("*.begun"))) < WORKERS:
                await asyncio.sleep(0.1)
        await asyncio.sleep(0.5)
        assert list(tmp_path.glob("*.token")) == []
        release.set()
        assert [await asyncio.to_thread(each.wait, 60) for each in processes] == [0] * WORKERS
    finally:
        for each in processes:
            each.kill()
    given = {each.read_text() for each in tmp_path.glob("*.token")}

    assert (len(given), google.consents.refreshes) == (1, 1)
    assert google.consents.find_access(given.pop()) is not None


async def test_a_refused_token_is_renewed_once_by_all_who_had_it(
    runtime: Runtime, google: FakeGoogle, grant_id: UUID
) -> None:
    refused = await GrantTokens(runtime, grant_id).get()
    google.consents.end_access_tokens()

    given = await asyncio.gather(*(GrantTokens(runtime, grant_id).get(refused=refused) for _ in range(WORKERS)))

    assert (len(set(given)), google.consents.refreshes) == (1, 1)


async def test_a_revoked_consent_is_found_once_and_not_asked_for_again(
    runtime: Runtime, clock: MovingClock, google: FakeGoogle, grant_id: UUID
) -> None:
    google.consents.revoke(EMAIL)
    clock.pass_time(hours=2)
    for _ in range(3):
        with pytest.raises(ConsentNeeded):
            await GrantTokens(runtime, grant_id).get()

    assert (await state_of(runtime, grant_id), google.consents.refreshes) == ("needs_consent", 1)


async def test_an_app_in_testing_loses_access_after_seven_days(
    runtime: Runtime, clock: MovingClock, google: FakeGoogle, grant_id: UUID
) -> None:
    google.consents.is_testing = True
    clock.pass_time(days=6)
    await GrantTokens(runtime, grant_id).get()
    clock.pass_time(days=2)

    with pytest.raises(ConsentNeeded):
        await GrantTokens(runtime, grant_id).get()


@pytest.mark.parametrize(
    "fault",
    [
        Fault(FaultKind.HANG_UP, "/token"),
        Fault(FaultKind.STATUS, "/token", status=503, body=b"busy"),
        Fault(FaultKind.STATUS, "/token", status=401, body=b'{"error": "invalid_client"}'),
        Fault(FaultKind.RAW, "/token", status=200, body=b"<html>"),
        Fault(FaultKind.RAW, "/token", status=200, body=b'{"access_token": "a\\nb", "token_type": "Bearer"}'),
    ],
    ids=lambda fault: f"{fault.kind} {fault.status}",
)
async def test_any_other_fault_is_tried_again_later(
    runtime: Runtime, clock: MovingClock, google: FakeGoogle, grant_id: UUID, fault: Fault
) -> None:
    clock.pass_time(hours=2)
    google.faults.append(fault)
    with pytest.raises(OAuthUnreachable):
        await GrantTokens(runtime, grant_id).get()

    assert await state_of(runtime, grant_id) == "ok"
    assert google.consents.find_access(await GrantTokens(runtime, grant_id).get()) is not None


async def test_a_process_that_died_while_it_asked_is_replaced(
    runtime: Runtime, clock: MovingClock, google: FakeGoogle, grant_id: UUID
) -> None:
    clock.pass_time(hours=2)
    until = clock.now.replace(second=30)
    await runtime.pool.execute("update oauth_grants set refresher = $1, refreshing_until = $2", uuid4(), until)
    waiting = asyncio.create_task(GrantTokens(runtime, grant_id).get())
    await asyncio.sleep(0.2)
    assert not waiting.done()
    clock.pass_time(seconds=31)

    assert google.consents.find_access(await waiting) is not None


async def test_tokens_that_come_after_a_new_consent_do_not_replace_it(
    runtime: Runtime, clock: MovingClock, user: User, google: FakeGoogle, grant_id: UUID
) -> None:
    clock.pass_time(hours=2)
    release = asyncio.Event()
    google.faults.append(Fault(FaultKind.HOLD, "/token", release=release))
    late = asyncio.create_task(GrantTokens(runtime, grant_id).get())
    await asyncio.sleep(0.2)
    again = await allow(runtime, user, google)
    async with runtime.transaction(OPERATOR) as work:
        await oauth.renew_grant(work, grant_id, again)
    release.set()
    await late

    assert await GrantTokens(runtime, grant_id).get() == again.tokens.access_token
