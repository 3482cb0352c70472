"""Every operation that names something by its id answers a stranger as if it did not exist, byte for byte."""

from collections.abc import AsyncIterator
from uuid import uuid4

import httpx2
import pytest

from openslot.app import create_app
from openslot.domains.access import operations as access
from openslot.domains.accounts.models import User
from openslot.domains.event_types import operations as event_types
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.hostile.foreign import FORMS, hide_ids, list_names, list_operations, send
from tests.support.clocks import MovingClock
from tests.support.hidden_forms import hide_forms
from tests.support.host import clock, open_session, settings, stranger, user
from tests.support.live import connect, serving
from tests.support.rich_account import TEN
from tests.support.rich_things import INNER, OTHERS, STEP, TABLES, add_rows, book, find_ids, make_one_of_each
from tests.support.some import some
from tests.support.table_contents import keep_tables, put_back, read_tables

__all__ = ["clock", "settings", "stranger", "user"]

OPERATIONS = list_operations()
# So many of them are asked in `make test`.
DAILY = 24
# Operations that name one thing inside of another: each of the two may be somebody else's.
NESTED = [one for one in OPERATIONS if len([name for name in list_names(one.path) if name not in OTHERS]) > 1]


@pytest.fixture
async def ids(runtime: Runtime, user: User) -> dict[str, str]:
    """Something of the host for every parameter."""
    return await make_one_of_each(runtime, user)


@pytest.fixture
async def own(runtime: Runtime, stranger: User) -> dict[str, str]:
    """What the stranger has of everything that something else is inside of, and may name in a form."""
    found, _ = await event_types.list_event_types(runtime.work(OPERATOR), stranger)
    booking = await book(runtime, found[0], TEN)
    await add_rows(runtime, stranger, booking, rows=INNER)
    names = {name for one in NESTED for name in list_names(one.path)} - OTHERS.keys() - {"effect_id"}
    return {
        **await find_ids(runtime, stranger, names | {"schedule_id"}),
        "effect_id": str(await runtime.pool.fetchval(STEP, booking.id)),
        "user_id": str(stranger.id),
    }


async def sign_in(client: httpx2.AsyncClient, runtime: Runtime, user: User) -> str:
    """Sign a client in as somebody, and return the header with their API key."""
    async with runtime.transaction(OPERATOR) as work:
        key, _ = await access.create_api_key(work, user, name="test")
    client.headers.update(await open_session(runtime, user))
    return f"Bearer {key}"


@pytest.fixture
async def bare(settings: Settings, clock: MovingClock) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a server whose forms are not shown again."""
    app = hide_forms(create_app(settings, clock=clock))
    async with serving(app) as url, connect(url, timeout=60) as opened:
        yield opened


async def test_what_is_another_hosts_looks_like_nothing(
    client: httpx2.AsyncClient,
    bare: httpx2.AsyncClient,
    runtime: Runtime,
    stranger: User,
    ids: dict[str, str],
    own: dict[str, str],
) -> None:
    for asking, offset in ((client, 0), (bare, 2)):
        bearer = await sign_in(asking, runtime, stranger)
        before = await read_tables(runtime)
        for one in some(OPERATIONS, daily=DAILY, offset=offset):
            asking.headers["Authorization"] = bearer if one.path.startswith("/api/v1/") else ""
            unknown = {name: str(uuid4()) for name in ids} | OTHERS
            theirs, none = [hide_ids(await send(asking, one, each, own)) for each in (ids, unknown)]

            assert theirs[0] == 404, f"{one}: {theirs}"
            assert theirs == none, f"{one}: {theirs} and {none}"
        assert await read_tables(runtime) == before
    assert len(OPERATIONS) > 130


async def test_what_is_another_hosts_looks_like_nothing_inside_of_ones_own(
    bare: httpx2.AsyncClient, runtime: Runtime, stranger: User, ids: dict[str, str], own: dict[str, str]
) -> None:
    bearer = await sign_in(bare, runtime, stranger)
    before = await read_tables(runtime)
    for one in some(NESTED, daily=3):
        bare.headers["Authorization"] = bearer if one.path.startswith("/api/v1/") else ""
        for name in set(list_names(one.path)) - OTHERS.keys():
            named = [{**own, **OTHERS, name: each} for each in (ids[name], str(uuid4()))]
            theirs, none = [hide_ids(await send(bare, one, each, own)) for each in named]

            assert theirs[0] == 404, f"{one} with another's {name}: {theirs}"
            assert theirs == none, f"{one} with another's {name}: {theirs} and {none}"
    assert await read_tables(runtime) == before
    assert len(NESTED) == 8


# These come as far as the provider, for whom the furnished account has a secret that opens nothing.
AT_A_PROVIDER = {
    "GET /calls/{call_id}/recording",
    "GET /conversations/{conversation_id}/messages/{message_id}/files/{position}",
    "GET /settings/crm/{connection_id}/fields",
    "POST /settings/calendars/{connection_id}/password",
    "POST /settings/calendars/{connection_id}/test",
    "POST /settings/crm/{connection_id}/fields",
    "POST /settings/crm/{connection_id}/test",
    "POST /settings/messages/{connection_id}/test",
}


@pytest.mark.rest("opens every page or sends every form")
@pytest.mark.own_database
async def test_their_host_who_sends_the_same_is_not_told_that_there_is_nothing(
    bare: httpx2.AsyncClient, runtime: Runtime, user: User, ids: dict[str, str]
) -> None:
    bearer = await sign_in(bare, runtime, user)
    held = await keep_tables(runtime)
    found = {}
    for one in some(OPERATIONS, daily=DAILY):
        bare.headers["Authorization"] = bearer if one.path.startswith("/api/v1/") else ""
        answer = await send(bare, one, ids, {**ids, "user_id": str(user.id)})
        found[str(one)] = answer.status_code
        if one.method != "GET":
            await put_back(runtime, held)
    assert [name for name, status in found.items() if status == 404] == []
    assert {name for name, status in found.items() if status >= 500} == AT_A_PROVIDER & found.keys()


def test_what_forms_are_sent_is_of_forms_that_are_there() -> None:
    assert FORMS.keys() <= {one.path for one in OPERATIONS if one.method == "POST"}
    assert {str(one) for one in OPERATIONS} >= AT_A_PROVIDER
    assert TABLES.keys() == {name for one in OPERATIONS for name in list_names(one.path)} - OTHERS.keys()
