"""Several servers in one URL: a machine that is lost and silent keeps nobody from the others."""

import socket
import time

import asyncpg
import pytest
from asyncpg import connect_utils
from msgspec.structs import replace

from openslot.platform.core import connecting
from openslot.platform.core.connecting import connect, list_servers
from openslot.platform.core.db import open_pool
from openslot.platform.core.migrate import check_migrated, migrate
from openslot.platform.core.outages import is_lost
from openslot.platform.core.profiles import JOBS
from tests.support.black_holes import black_hole, relayed, socket_of, with_servers
from tests.support.ports import held_port

HASTY = replace(JOBS, connect=2)
WHICH_HOLE = pytest.mark.parametrize("is_full", [False, True])


@pytest.fixture(autouse=True)
def _nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin without knowing which servers are down."""
    monkeypatch.setattr(connecting, "_last_until", {})


@pytest.mark.rest("waits for seconds")
@WHICH_HOLE
async def test_a_pool_connects_to_the_second_server_if_the_first_is_silent(database_url: str, is_full: bool) -> None:
    with black_hole(is_full=is_full) as port:
        url = with_servers(database_url, str(port), socket_of(database_url))
        pool = await open_pool(url, max_=2, profile=HASTY)
        assert await pool.fetchval("select 1") == 1
        await pool.close()


@pytest.mark.rest("waits for seconds")
async def test_migrations_find_the_second_server_if_the_first_is_silent(database_url: str) -> None:
    with black_hole() as port:
        url = with_servers(database_url, str(port), socket_of(database_url))
        assert await migrate(url) == []
        await check_migrated(url)


@pytest.mark.rest("waits for seconds")
async def test_a_silent_server_is_tried_last_for_a_while(database_url: str) -> None:
    with black_hole() as port:
        url = with_servers(database_url, str(port), socket_of(database_url))
        took = []
        for _ in range(2):
            began = time.monotonic()
            connection = await connect(url, within=4)
            took.append(time.monotonic() - began)
            await connection.close()
    assert took[0] >= 2
    assert took[1] < 1


@pytest.mark.rest("waits for seconds")
async def test_a_server_that_is_started_again_is_tried_first_again(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "LAST_FOR", 0.0)
    with black_hole() as port:
        url = with_servers(database_url, str(port), socket_of(database_url))
        for _ in range(2):
            began = time.monotonic()
            await (await connect(url, within=2)).close()
            assert time.monotonic() - began >= 1


@pytest.mark.rest("waits for seconds")
async def test_all_time_is_shared_and_servers_that_are_silent_count_as_a_lost_database(database_url: str) -> None:
    with black_hole() as one, black_hole(is_full=True) as other:
        began = time.monotonic()
        with pytest.raises(TimeoutError) as met:
            await connect(with_servers(database_url, str(one), str(other)), within=1)
    assert 1 <= time.monotonic() - began < 3
    assert is_lost(met.value)


async def test_a_server_that_refuses_leaves_its_time_to_the_others(database_url: str) -> None:
    with held_port() as refusing:
        url = with_servers(database_url, str(refusing), socket_of(database_url))
        await (await connect(url, within=60)).close()


async def test_a_wrong_database_is_the_same_on_all_servers(database_url: str) -> None:
    place = socket_of(database_url)
    with black_hole() as port:
        url = with_servers("postgresql:///nowhere", place, str(port))
        with pytest.raises(asyncpg.InvalidCatalogNameError):
            await connect(url, within=60)


async def test_a_server_that_is_up_but_of_the_wrong_kind_does_not_hide_one_that_is_down(database_url: str) -> None:
    place = socket_of(database_url)
    with held_port() as refusing:
        with pytest.raises(ConnectionRefusedError):
            await connect(f"{with_servers(database_url, str(refusing), place)}?target_session_attrs=standby", within=9)
        with pytest.raises(asyncpg.TargetServerAttributeNotMatched):
            await connect(f"{with_servers(database_url, place, place)}?target_session_attrs=standby", within=9)


URLS = [
    "postgresql://ann:p%40ss@db1,db2/openslot?target_session_attrs=primary",
    "postgresql://db1:5433,db2:5434/openslot",
    "postgresql://db1:5433,db2/openslot?port=9",
    "postgresql://ann@[::1]:5433,[fe80::1%25eth0],db/openslot",
    "postgresql://ann@%2Frun%2Fone,%2Frun%2Ftwo/openslot",
    "postgresql:///openslot?host=/run/one,db2,[::1]",
    "postgresql:///openslot?host=db1:1,db2:2",
    "postgresql:///openslot?host=db1,db2&port=5433",
    "postgresql:///openslot?host=db1:1,db2:2&port=5433",
    "postgresql:///openslot?host=db1,/run/two&port=5433,5434",
    "postgres:///openslot?host=a%2Cb&host=db1%2Cdb2",
]
ALONE = ["postgresql://db1/x", "postgresql:///x?host=/run/one", "postgresql:///x", "postgresql://[::1]:9/x"]
PORTS = pytest.mark.parametrize("port", ["", "6000", "6001,6002"])


def ask_driver(url: str, **place: object) -> list[object]:
    """Return the addresses to which the driver connects, by itself or when it is told one."""
    names = "host port user password passfile database ssl service servicefile direct_tls server_settings"
    nothing = dict.fromkeys([*names.split(), "target_session_attrs", "krbsrvname", "gsslib"])
    addresses, _ = connect_utils._parse_connect_dsn_and_args(dsn=url, **{**nothing, **place})
    return list(addresses)


@PORTS
@pytest.mark.parametrize("url", URLS)
def test_servers_are_those_that_the_driver_reads(url: str, port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if port.count(",") and len(list_servers(url)) != 2:
        pytest.skip("the driver refuses another number of ports")
    monkeypatch.setenv("PGPORT", port)
    told = [address for each in list_servers(url) for address in ask_driver(url, host=each.host, port=each.port)]
    assert told == ask_driver(url)
    assert len(told) > 1


@pytest.mark.parametrize("url", ALONE)
def test_one_server_is_left_to_the_driver(url: str) -> None:
    assert list_servers(url) == []


@PORTS
def test_servers_may_be_named_by_the_environment(port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPORT", port)
    monkeypatch.setenv("PGHOST", "db1,db2")
    url = "postgresql:///openslot"
    told = [address for each in list_servers(url) for address in ask_driver(url, host=each.host, port=each.port)]
    assert told == ask_driver(url)
    assert list_servers("postgresql://db3/openslot") == []
    assert list_servers("postgresql:///openslot?service=ours") == []


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="only Linux lets a program choose this")
async def test_a_connection_over_a_network_is_lost_soon_after_the_machine_at_its_other_end(database_url: str) -> None:
    """The kernel waits for 15 minutes otherwise, and so would a worker, at the least for its longest statement."""
    async with relayed(database_url) as port:
        url = with_servers(database_url, str(port))
        connection = await connect(url, within=4)
        sock = connection._transport.get_extra_info("socket")
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 15_000
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 10
        await connection.close()
