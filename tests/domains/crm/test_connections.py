"""A CRM is connected, stops working, is told of once, and works again."""

from datetime import timedelta

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.crm import operations
from openslot.domains.crm.errors import CrmNotFound, TooManyCrms
from openslot.domains.crm.models import CrmConnection, CrmStanding, CrmWanted
from openslot.domains.crm.ports import CrmUnavailable
from openslot.domains.crm.rules import MAX_CONNECTIONS
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Invalid
from openslot.platform.core.failing import TELL_AFTER
from openslot.platform.core.work import Runtime
from tests.domains.crm.conftest import connect
from tests.support.clocks import MovingClock
from tests.support.effects import work_off, work_until_settled
from tests.support.fake_crm import FakeCrm
from tests.support.host import ELEVEN, Book, cancel

NOTICES = "select count(*) from mail_messages where kind = 'notice'"


async def read(runtime: Runtime, connection: CrmConnection) -> CrmConnection:
    return await operations.get_crm_connection(runtime.work(OPERATOR), None, connection.id)


async def test_a_connection_keeps_its_secret_sealed(runtime: Runtime, connection: CrmConnection) -> None:
    assert connection.standing is CrmStanding.CONNECTED
    assert b"a token" not in connection.secret
    assert runtime.secrets.open(connection.secret) == "a token"


async def test_the_same_account_is_connected_once(runtime: Runtime, user: User, connection: CrmConnection) -> None:
    again = await connect(runtime, user, "another token")

    assert again.id == connection.id
    assert runtime.secrets.open(again.secret) == "another token"
    assert len(await operations.list_connections(runtime.work(OPERATOR), user)) == 1


@pytest.mark.parametrize(
    ("wanted", "fields"),
    [
        (CrmWanted(vendor="other"), {"vendor"}),
        (CrmWanted(vendor="fake"), {"secret"}),
        (CrmWanted(vendor="fake", secret="x" * 501), {"secret"}),
        (CrmWanted(vendor="webhook"), {"account"}),
        (CrmWanted(vendor="webhook", account="ftp://crm.example"), {"account"}),
        (CrmWanted(vendor="webhook", account="https://10.0.0.1/"), {"account"}),
    ],
)
async def test_bad_input_names_its_field(runtime: Runtime, user: User, wanted: CrmWanted, fields: set[str]) -> None:
    with pytest.raises(Invalid) as refused:
        await operations.connect(runtime.work(OPERATOR), user, wanted)

    assert set(refused.value.details or {}) == fields


async def test_a_secret_that_is_refused_is_not_kept(runtime: Runtime, user: User, crm: FakeCrm) -> None:
    crm.is_revoked = True
    with pytest.raises(Invalid) as refused:
        await connect(runtime, user)

    assert set(refused.value.details or {}) == {"secret"}
    assert await operations.list_connections(runtime.work(OPERATOR), user) == []


async def test_a_user_has_few_of_them(runtime: Runtime, user: User) -> None:
    for number in range(MAX_CONNECTIONS):
        wanted = CrmWanted(vendor="webhook", account=f"https://crm.example/{number}")
        await operations.connect(runtime.work(OPERATOR), user, wanted)

    with pytest.raises(TooManyCrms):
        await connect(runtime, user)


async def test_others_can_neither_read_nor_disconnect_it(
    runtime: Runtime, stranger: User, connection: CrmConnection
) -> None:
    with pytest.raises(CrmNotFound):
        await operations.get_crm_connection(runtime.work(OPERATOR), stranger, connection.id)
    async with runtime.transaction(OPERATOR) as work:
        with pytest.raises(CrmNotFound):
            await operations.disconnect(work, stranger, connection.id)


async def test_a_refused_secret_is_told_once_and_nothing_is_sent_until_it_is_connected_again(
    runtime: Runtime, clock: MovingClock, user: User, connection: CrmConnection, crm: FakeCrm, book: Book
) -> None:
    crm.is_revoked = True
    booking = await book()
    await work_off(runtime, clock)
    await book(ELEVEN)
    for _ in range(3):
        clock.pass_time(minutes=3)
        await work_off(runtime, clock)

    assert (await read(runtime, connection)).standing is CrmStanding.NEEDS_RECONNECT
    assert len(crm.keys) == 2
    assert await runtime.pool.fetchval(NOTICES) == 1
    crm.is_revoked = False
    await connect(runtime, user, "a new token")
    assert (await read(runtime, connection)).standing is CrmStanding.CONNECTED
    await work_off(runtime, clock)
    assert crm.state.added == 2
    await cancel(runtime, booking)
    await work_off(runtime, clock)
    assert await runtime.pool.fetchval(NOTICES) == 1


async def test_what_was_given_up_because_of_the_secret_is_written_after_connecting_again(
    runtime: Runtime, clock: MovingClock, user: User, connection: CrmConnection, crm: FakeCrm, book: Book
) -> None:
    crm.is_revoked = True
    await book()
    await work_until_settled(runtime, clock)
    assert await runtime.pool.fetchval("select state from effects where reaction = 'crm.write'") == "dead"

    crm.is_revoked = False
    await connect(runtime, user)
    await work_off(runtime, clock)

    assert crm.state.added == 1


async def test_a_test_that_succeeds_lets_it_work_again(
    runtime: Runtime, clock: MovingClock, user: User, connection: CrmConnection, crm: FakeCrm, book: Book
) -> None:
    crm.is_revoked = True
    await book()
    await work_off(runtime, clock)
    found = await read(runtime, connection)
    assert await operations.check_connection(runtime.work(OPERATOR), found) is not None

    crm.is_revoked = False
    assert await operations.check_connection(runtime.work(OPERATOR), found) is None
    await work_off(runtime, clock)

    assert (crm.state.added, (await read(runtime, connection)).failing_since) == (1, None)


async def test_a_crm_that_is_down_is_told_after_some_hours(
    runtime: Runtime, clock: MovingClock, connection: CrmConnection, crm: FakeCrm, book: Book
) -> None:
    crm.faults += [CrmUnavailable("The CRM returned 500")] * 50
    await book()
    begun = clock.now
    await work_off(runtime, clock)
    assert (await read(runtime, connection)).standing is CrmStanding.FAILING
    assert await runtime.pool.fetchval(NOTICES) == 0

    while clock.now < begun + 2 * TELL_AFTER:
        clock.now += timedelta(minutes=30)
        await work_off(runtime, clock)

    assert await runtime.pool.fetchval(NOTICES) == 1
    crm.faults.clear()
    await work_until_settled(runtime, clock)
    assert (await read(runtime, connection)).standing is CrmStanding.CONNECTED


async def test_a_disconnected_crm_gets_nothing_and_nothing_of_it_is_kept(
    runtime: Runtime, clock: MovingClock, user: User, connection: CrmConnection, crm: FakeCrm, book: Book
) -> None:
    await book()
    await work_off(runtime, clock)
    asked = len(crm.keys)
    booking = await book(ELEVEN)
    async with runtime.transaction(OPERATOR) as work:
        await operations.disconnect(work, user, connection.id)
    await work_off(runtime, clock)
    await cancel(runtime, booking)
    await work_off(runtime, clock)

    assert len(crm.keys) == asked
    assert await runtime.pool.fetchval("select count(*) from crm_meetings") == 0
    assert await runtime.pool.fetchval("select count(*) from crm_connections") == 0
