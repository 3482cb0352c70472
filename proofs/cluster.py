"""Two PostgreSQL servers under Patroni with etcd, and PgBouncer in front that follows the primary, on this machine."""

import asyncio
import os
import platform
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from openslot.platform.core.embedded.cluster import unprivileged
from proofs.figures import Impossible
from proofs.proxy import FaultProxy
from tests.support.forked import Forked, openslot
from tests.support.ports import held_port

ROOT = Path(__file__).parent.parent
POINT_PGBOUNCER = ROOT / "deploy/point-pgbouncer"
INSTALL = ROOT / "scripts/install-cluster"
# How soon a primary that is gone is replaced, in seconds: Patroni's own defaults are 30, 10 and 10.
QUICK = {"ttl": 4, "loop_wait": 1, "retry_timeout": 2}
PARAMETERS = {
    "shared_buffers": "16MB",
    "max_connections": 60,
    "max_wal_senders": 5,
    "wal_keep_size": "256MB",
    "unix_socket_directories": "",
}


class Daemon:
    """A program that runs in the background as an ordinary user, and what it has said in a file."""

    def __init__(self, place: Path, *command: str) -> None:
        self.place = place
        self._command = list(command)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command, user = unprivileged(self.place, self._command)
        environment = {**os.environ, "ETCD_UNSUPPORTED_ARCH": "arm64" if platform.machine() == "aarch64" else ""}
        with (self.place / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self.place, env=environment, start_new_session=True, **user
            )

    def kill(self) -> None:
        """End it without warning."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Ask it to end, if it is running, and wait for that."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)


class Ports(Struct, frozen=True):
    """Where etcd is for a server, and where the other one finds its PostgreSQL and its Patroni."""

    etcd: int
    postgres: int
    rest: int


class Node(Daemon):
    """A PostgreSQL server and the Patroni that starts it, makes it the primary or a standby, and mends it."""

    def __init__(
        self, place: Path, *, name: str, ports: "Ports", settings: dict[str, Any], lines: Mapping[str, FaultProxy]
    ) -> None:
        self.name, self.port = name, ports.postgres
        self.lines = lines
        """By the name of the port that each leads to; those that can be cut."""
        self._rest = f"http://127.0.0.1:{ports.rest}"
        place.mkdir()
        file = place / "patroni.yaml"
        # JSON is YAML.
        file.write_bytes(msgspec.json.encode(settings | {"name": name}))
        super().__init__(place, "/usr/bin/patroni", str(file))

    async def is_(self, role: str) -> bool:
        """Tell what Patroni answers: whether this is the `primary`, a `replica`, the `synchronous` standby."""
        answer = await _get(f"{self._rest}/{role}")
        return answer is not None and answer.status_code == 200

    async def takes_writes(self) -> bool:
        """Ask PostgreSQL itself whether it takes writes; while it is not there, it does not."""
        try:
            connection = await asyncpg.connect(f"postgresql://postgres@127.0.0.1:{self.port}/postgres", timeout=5)
        except (OSError, asyncpg.PostgresError):
            return False
        is_standby: bool = await connection.fetchval("select pg_is_in_recovery()")
        await connection.close()
        return not is_standby

    async def make_asynchronous(self) -> None:
        """Have the cluster acknowledge what its standby lacks, and promote that however far it is behind."""
        async with httpx2.AsyncClient(timeout=5, verify=False) as client:
            answer = await client.patch(
                f"{self._rest}/config", json={"synchronous_mode": False, "maximum_lag_on_failover": 1_000_000_000}
            )
            answer.raise_for_status()

    def kill_all(self) -> None:
        """End Patroni and PostgreSQL without warning, as when the machine is lost."""
        self.kill()
        self._signal(signal.SIGKILL)

    def stop(self) -> None:
        """End both at once: in order, each would hand over to the other and wait for it."""
        if not self.is_running:
            return
        self.kill()
        with suppress(OSError):
            self._signal(signal.SIGQUIT)
            deadline = time.monotonic() + 10
            while self._lock.exists() and time.monotonic() < deadline:
                time.sleep(0.05)

    @property
    def _lock(self) -> Path:
        return self.place / "data/postmaster.pid"

    def _signal(self, number: signal.Signals) -> None:
        os.kill(int(self._lock.read_text().split()[0]), number)


class Cluster:
    """The servers, and the addresses that an installation is given."""

    def __init__(self, nodes: Sequence[Node], pooler: Daemon, pooler_port: int) -> None:
        self.nodes = nodes
        self.pooler = pooler
        self.pooler_port = pooler_port

    @property
    def direct_url(self) -> str:
        """The address of whichever server is the primary."""
        servers = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        return f"postgresql://postgres@{servers}/openslot?target_session_attrs=primary"

    async def get_primary(self, *, within: float = 90) -> Node:
        """Find the primary; on a busy machine it may just have lost its lease, and one of them gets a new one."""
        async with asyncio.timeout(within):
            while True:
                for node in self.nodes:
                    if await node.is_("primary"):
                        return node
                await asyncio.sleep(0.1)

    def get_other(self, node: Node) -> Node:
        return next(other for other in self.nodes if other is not node)


@asynccontextmanager
async def cluster(
    place: Path, *, proxied: Collection[str] = (), timing: Mapping[str, int] = QUICK
) -> AsyncIterator[Cluster]:
    """Run all of them until the end of the `async with`; it begins when the standby follows the primary.

    The lines to those of its `Ports` that are `proxied` can be cut.
    """
    await asyncio.to_thread(_install)
    # The first process that is forked takes seconds, in which no proxy of this event loop would pass anything on.
    await asyncio.to_thread(lambda: Forked(openslot, "--help", out=place / "help").wait())
    async with AsyncExitStack() as stack:
        # The proxies have closed their lines by then, and their tasks end a moment later.
        stack.push_async_callback(asyncio.sleep, 0.2)

        def take_port() -> int:
            return stack.enter_context(held_port())

        etcd_port, pooler_port = take_port(), take_port()
        etcd = _write_etcd(place / "etcd", etcd_port, take_port())
        pooler = _write_pgbouncer(place / "pgbouncer", pooler_port)
        stack.callback(etcd.stop)
        etcd.start()
        await wait_for(lambda: _has_version(etcd_port))
        nodes = []
        for name in ("one", "two"):
            own = Ports(etcd_port, take_port(), take_port())
            lines = {port: FaultProxy("127.0.0.1", getattr(own, port)) for port in proxied}
            for line in lines.values():
                await stack.enter_async_context(line.running())
            shown = replace(own, **{port: line.port for port, line in lines.items()})
            settings = _patroni(place / name, own, shown, pooler.place, {**timing, "synchronous_mode": True})
            nodes.append(Node(place / name, name=name, ports=own, settings=settings, lines=lines))
            stack.callback(nodes[-1].stop)
        one, two = nodes
        one.start()
        await wait_for(lambda: one.is_("primary"))
        await _create_database(one.port)
        two.start()
        await wait_for(lambda: two.is_("synchronous"))
        stack.callback(pooler.stop)
        pooler.start()
        yield Cluster(nodes, pooler, pooler_port)


def _install() -> None:
    done = subprocess.run([INSTALL], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Impossible(f"scripts/install-cluster could not install what is needed: {done.stderr.strip()}")


async def wait_for(holds: Callable[[], Coroutine[Any, Any, bool]], *, within: float = 90) -> float:
    """Wait until something is so, and tell how many seconds that took."""
    began = time.monotonic()
    async with asyncio.timeout(within):
        while not await holds():
            await asyncio.sleep(0.1)
    return time.monotonic() - began


async def _has_version(etcd_port: int) -> bool:
    """Tell whether etcd has decided what it is; Patroni does not start before."""
    answer = await _get(f"http://127.0.0.1:{etcd_port}/version")
    return answer is not None and answer.json()["etcdcluster"] != "not_decided"


async def _get(url: str) -> httpx2.Response | None:
    # Certificates would be read anew each time.
    async with httpx2.AsyncClient(timeout=2, verify=False) as client:
        with suppress(httpx2.TransportError):
            return await client.get(url)
    return None


async def _create_database(port: int) -> None:
    connection = await asyncpg.connect(f"postgresql://postgres@127.0.0.1:{port}/postgres")
    await connection.execute("create database openslot")
    await connection.close()


def _write_etcd(place: Path, port: int, peer_port: int) -> Daemon:
    place.mkdir()
    url, peers = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer_port}"
    chosen = {
        "name": "only",
        "data-dir": str(place / "data"),
        "listen-client-urls": url,
        "advertise-client-urls": url,
        "listen-peer-urls": peers,
        "initial-advertise-peer-urls": peers,
        "initial-cluster": f"only={peers}",
    }
    return Daemon(place, "/usr/bin/etcd", *(f"--{name}={value}" for name, value in chosen.items()))


def _write_pgbouncer(place: Path, port: int) -> Daemon:
    place.mkdir()
    (place / "users").write_text('"postgres" ""\n')
    (place / "databases.ini").write_text("[databases]\n")
    (place / "pgbouncer.ini").write_text(f"""\
%include {place}/databases.ini
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {place}/users
pidfile = {place}/pid
pool_mode = transaction
default_pool_size = 20
server_login_retry = 1
server_connect_timeout = 2
log_connections = 0
log_disconnections = 0
""")
    return Daemon(place, "/usr/sbin/pgbouncer", str(place / "pgbouncer.ini"))


def _patroni(place: Path, own: Ports, shown: Ports, pooler: Path, rules: Mapping[str, Any]) -> dict[str, Any]:
    """Write Patroni's settings: where it listens, where the other one finds it, and the rules that both keep."""
    point = f"{POINT_PGBOUNCER} 127.0.0.1 {own.postgres} {pooler}/databases.ini {pooler}/pid"
    return {
        "scope": "openslot",
        "restapi": {"listen": f"127.0.0.1:{own.rest}", "connect_address": f"127.0.0.1:{shown.rest}"},
        "etcd3": {"host": f"127.0.0.1:{shown.etcd}", "use_proxies": True},
        "watchdog": {"mode": "off"},
        "bootstrap": {
            "dcs": {**rules, "postgresql": {"use_pg_rewind": True, "parameters": PARAMETERS}},
            "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, "data-checksums"],
            "pg_hba": ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"],
        },
        "postgresql": {
            "listen": f"127.0.0.1:{own.postgres}",
            "connect_address": f"127.0.0.1:{shown.postgres}",
            "data_dir": str(place / "data"),
            "bin_dir": str(max(Path("/usr/lib/postgresql").glob("*/bin"))),
            "pgpass": str(place / "pgpass"),
            "basebackup": [{"checkpoint": "fast"}],
            "authentication": {"superuser": {"username": "postgres"}, "replication": {"username": "replicator"}},
            "callbacks": {"on_role_change": point, "on_start": point},
        },
    }
