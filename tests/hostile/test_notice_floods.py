"""Junk where providers send notices: refused before anything is read that grows, and nothing of it is kept."""

from collections.abc import AsyncIterator
from contextlib import nullcontext
from itertools import product
from uuid import UUID, uuid4

import httpx2
import pytest

from openslot.app import create_app
from openslot.domains.accounts.models import User
from openslot.domains.messaging.connections.models import ConnectionChannel
from openslot.domains.messaging.models import ProviderName
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.doors.http.routes import OPERATIONS
from tests.support.clocks import clock
from tests.support.host import user
from tests.support.live import connect, serving
from tests.support.messaging import insert_number
from tests.support.payments import insert_connection
from tests.support.some import some
from tests.support.statements import CountingPool

__all__ = ["clock", "user"]

# Which header each address is signed in, and the answer to what is not; whoever adds an address has to say so here.
SIGNED = {
    "/api/notices/twilio/{connection_id}/messages": ("x-twilio-signature", 403),
    "/api/notices/twilio/{connection_id}/status": ("x-twilio-signature", 403),
    "/api/notices/twilio/{connection_id}/calls": ("x-twilio-signature", 403),
    "/api/notices/gateway/{connection_id}": ("webhook-signature", 403),
    "/api/notices/calls/{connection_id}": ("webhook-signature", 403),
    "/api/notices/stripe/{connection_id}": ("stripe-signature", 400),
    "/api/notices/google/{channel_id}": ("x-goog-channel-token", 403),
    # Each item of the body has a secret.
    "/api/notices/microsoft/{channel_id}": ("x-none", 403),
}
# What is read far enough for a look-up, where that is more than any body with a signature.
READABLE = {"/api/notices/microsoft/{channel_id}": b'{"value": [{"subscriptionId": "x", "clientState": "x"}]}'}
DECLARED = {each.path: each.handler.declaration for each in OPERATIONS if each.path.startswith("/api/notices/")}
LARGEST = 512 * 1024
PIECE = 32 * 1024
# The limit of an address is one row, and a connection is looked up by its primary key.
LIMIT, LOOK_UP = "insert into rate_log", ("_connections c where c.id = $1", "_channels c where c.id = $1")
TABLES = "select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by relname"
JUNK = [b"", b"{}", b"a=b", b"\x00\xff" * 100, b"[" * 5000, b"a" * 60_000]


@pytest.fixture
async def connections(runtime: Runtime, user: User) -> dict[str, UUID]:
    """Live connections, by the part of an address that says which provider it is."""
    gateway, secret = ProviderName.GATEWAY, "whsec_" + "A" * 32
    twilio = await insert_number(runtime, user_id=user.id)
    own = await insert_number(
        runtime, user_id=user.id, provider=gateway, token=secret, channel=ConnectionChannel.WHATSAPP
    )
    voice = await insert_number(
        runtime, user_id=user.id, provider=gateway, token=secret, channel=ConnectionChannel.VOICE
    )
    paying = await insert_connection(runtime, "sk_test_1", user_id=user.id)
    sealed = runtime.secrets.seal("whsec_1")
    await runtime.pool.execute("update payment_connections set notice_secret = $1", sealed)
    channel = await insert_channel(runtime, user)
    found = {"twilio": twilio.id, "gateway": own.id, "calls": voice.id, "stripe": paying.id}
    return {**found, "google": channel, "microsoft": channel}


async def insert_channel(runtime: Runtime, user: User) -> UUID:
    """Write a live channel of a calendar."""
    ids = [uuid4() for _ in range(3)]
    await runtime.pool.execute(
        """with c as (
            insert into calendar_connections (id, owner_id, kind, server, label, secret, next_sync_at, created_at)
            values ($1, $4, 'google', 'google.example', 'mara', '', now(), now()) returning id
        ), k as (
            insert into calendars (id, connection_id, owner_id, url, name, can_write, is_busy, receives)
            select $2, id, $4, 'mara', 'Work', true, true, true from c returning id, connection_id
        )
        insert into calendar_channels (id, connection_id, calendar_id, token_hash, expires_at, renew_at, created_at)
        select $3, connection_id, id, sha256('token'), now() + interval '7 days', now(), now() from k""",
        *ids,
        user.id,
    )
    return ids[2]


def fill(path: str, connection_id: object) -> str:
    return path.format(connection_id=connection_id, channel_id=connection_id)


def own_of(connections: dict[str, UUID], path: str) -> UUID:
    return connections[path.split("/")[3]]


async def count_rows(runtime: Runtime) -> dict[str, int]:
    names = [row["relname"] for row in await runtime.pool.fetch(TABLES)]
    return {name: await runtime.pool.fetchval(f'select count(*) from "{name}"') for name in names if name != "rate_log"}


@pytest.fixture
async def pool(runtime: Runtime, connections: dict[str, UUID]) -> CountingPool:
    """What the server asks the database."""
    runtime.pool = CountingPool(runtime.pool)
    return runtime.pool


@pytest.fixture
async def client(settings: Settings, runtime: Runtime, pool: CountingPool) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a server whose questions to the database are seen."""
    app = create_app(settings)
    app._open_runtime = lambda: nullcontext(runtime)
    async with serving(app) as url, connect(url) as opened:
        yield opened


def test_every_address_is_known_here_and_has_its_limits() -> None:
    assert DECLARED.keys() == SIGNED.keys()
    for path, declared in DECLARED.items():
        assert declared.limit is not None, path
        assert declared.max_bytes is not None, path
        assert declared.max_bytes <= LARGEST, path
        # No connection of the database is held before it is verified.
        assert declared.transaction == "none", path


@pytest.mark.parametrize("path", SIGNED)
async def test_junk_is_refused_with_one_look_up_by_primary_key_at_most_and_leaves_nothing(
    client: httpx2.AsyncClient, runtime: Runtime, pool: CountingPool, connections: dict[str, UUID], path: str
) -> None:
    header, status = SIGNED[path]
    before = await count_rows(runtime)
    signatures = [b"", b"x", b"v1,AAAA", b"t=1,v1=00", "ä".encode(), b"x" * 5000]
    # Seven of them have each body and each signature once.
    for connection_id, body, signature in some(
        product((own_of(connections, path), uuid4()), JUNK, signatures), daily=7
    ):
        pool.asked.clear()
        answer = await client.post(fill(path, connection_id), content=body, headers=[(header.encode(), signature)])
        assert answer.status_code == status, (body[:20], signature[:20], answer.text)
        limits = [each for each in pool.asked if LIMIT in each]
        others = [each for each in pool.asked if LIMIT not in each]
        assert len(limits) <= 1
        assert len(others) <= 1, others
        assert all(each.strip().endswith(LOOK_UP) for each in others), others

    # They are seen at all.
    readable = READABLE.get(path, b"{}")
    await client.post(fill(path, own_of(connections, path)), content=readable, headers={header: "x"})
    assert any(each.strip().endswith(LOOK_UP) for each in pool.asked)
    assert await count_rows(runtime) == before
    assert await runtime.pool.fetchval("select count(*) from rate_log") == 1


@pytest.mark.parametrize("path", SIGNED)
async def test_without_a_signature_or_an_id_nothing_is_looked_up(
    client: httpx2.AsyncClient, runtime: Runtime, pool: CountingPool, connections: dict[str, UUID], path: str
) -> None:
    header, status = SIGNED[path]
    pool.asked.clear()
    unsigned = [await client.post(fill(path, own_of(connections, path)), content=body) for body in JUNK]
    places = ("x", "1", "%00", "a" * 99)
    nowhere = [await client.post(fill(path, place), content=b"{}", headers={header: "x"}) for place in places]

    assert {each.status_code for each in unsigned} == {status}
    assert {each.status_code for each in nowhere} <= {400, 403, 404}
    assert [each for each in pool.asked if LIMIT not in each] == []


@pytest.mark.parametrize("path", SIGNED)
async def test_what_is_too_large_is_refused_without_a_look_up(
    client: httpx2.AsyncClient, runtime: Runtime, pool: CountingPool, connections: dict[str, UUID], path: str
) -> None:
    header, _ = SIGNED[path]
    largest = DECLARED[path].max_bytes
    assert largest is not None
    pool.asked.clear()

    async def write() -> AsyncIterator[bytes]:
        for _ in range(largest // PIECE + 1):
            yield b"x" * PIECE

    bodies: list[bytes | AsyncIterator[bytes]] = [b"x" * (largest + 1), write()]
    for body in bodies:
        answer = await client.post(fill(path, own_of(connections, path)), content=body, headers={header: "x"})
        assert answer.status_code == 413
    assert [each for each in pool.asked if LIMIT not in each] == []


@pytest.mark.parametrize("path", SIGNED)
async def test_a_flood_from_one_address_is_refused_before_the_connection_is_looked_up(
    client: httpx2.AsyncClient, runtime: Runtime, pool: CountingPool, connections: dict[str, UUID], path: str
) -> None:
    header, _ = SIGNED[path]
    limit = DECLARED[path].limit
    assert limit is not None
    await client.post(fill(path, uuid4()), content=b"{}", headers={header: "x"})
    await runtime.pool.execute(
        "update rate_log set stamps = array_fill(stamps[1], array[$1::int]), taken = $1", limit.max_
    )
    pool.asked.clear()
    answer = await client.post(fill(path, own_of(connections, path)), content=b"{}", headers={header: "x"})

    assert answer.status_code == 429
    assert [each for each in pool.asked if LIMIT not in each] == []
