"""The embedded server starts from whatever state it is found in, as whoever runs it."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import psutil
import pytest

from openslot.platform.core.config import Settings
from openslot.platform.core.embedded import (
    SYSTEM_USER,
    find_server,
    keep_server,
    postgres_program,
    process,
    start_server,
    stop_server,
)
from openslot.platform.core.errors import StartupError
from openslot.processes.environment import database
from tests.support.installation import Installation

pytestmark = pytest.mark.rest("starts and stops services: one test in make test does")

for_root = pytest.mark.skipif(os.geteuid() != 0, reason="PostgreSQL takes every user but root as it is")


async def people(url: str) -> int:
    connection = await asyncpg.connect(url)
    try:
        return int(await connection.fetchval("select count(*) from users"))
    finally:
        await connection.close()


@pytest.mark.parametrize("port", ["5432", "23490"])
async def test_a_lock_whose_pid_is_another_programs_by_now_does_not_keep_it_from_starting(
    home: Installation, port: str
) -> None:
    # PostgreSQL takes no notice of its own parent, but of any other program.
    with subprocess.Popen(["sleep", "600"]) as other:
        stale = f"{other.pid}\n{home.data_dir}/postgres\n1\n{port}\n{home.data_dir}/postgres\n\n0 0\nready   \n"
        (home.data_dir / "postgres" / "postmaster.pid").write_text(stale)
        (home.data_dir / "postgres" / f".s.PGSQL.{port}.lock").write_text(stale)
        try:
            assert find_server(home.data_dir) is None
            server = start_server(home.data_dir, options={"port": port})
            assert await people(server.url) == 3
        finally:
            stop_server(home.data_dir)
            other.kill()
    assert find_server(home.data_dir) is None


async def test_a_killed_servers_file_is_not_taken_for_the_new_server_that_has_its_pid(
    home: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = home.data_dir / "postgres"
    nobody = 2**22 + 1
    stale = f"{nobody}\n{directory}\n1\n5432\n{directory}\n\n0 0\nready   \n"
    (directory / "postmaster.pid").write_text(stale)
    with monkeypatch.context() as patch:
        # In a container each start has the same pids.
        patch.setattr(process, "postmaster", lambda _: psutil.Process())
        url = process.launch(directory, {})
    try:
        assert await people(url) == 3
    finally:
        stop_server(home.data_dir)


async def test_a_second_opener_leaves_the_server_to_its_owner(home: Installation) -> None:
    first = start_server(home.data_dir)
    try:
        assert first.owned
        assert home.told("user", "list")["total"] == 3
        second = start_server(home.data_dir)
        assert not second.owned
        assert keep_server(home.data_dir, second) == second
        assert await people(first.url) == 3
    finally:
        stop_server(home.data_dir)
    home.wait_until_gone(within=0.5)


async def test_an_operator_chooses_the_size_of_the_page_cache(home: Installation) -> None:
    with database(Settings(data_dir=home.data_dir, database_cache_mb=24)) as ready:
        connection = await asyncpg.connect(ready.database_url)
        chosen = await connection.fetchval("show shared_buffers")
        await connection.close()

    assert chosen == "24MB"


@contextmanager
def moved(home: Installation, place: Path) -> Iterator[Path]:
    """Have the data directory in another place for a while."""
    shutil.move(home.data_dir, place)
    yield place
    shutil.move(place, home.data_dir)


async def test_a_path_too_long_for_a_socket_and_full_of_odd_signs_works(home: Installation, tmp_path: Path) -> None:
    (tmp_path / ("long " * 25)).mkdir()
    with moved(home, tmp_path / ("long " * 25) / "ünd, 100%") as odd:
        server = start_server(odd)
        try:
            assert await people(server.url) == 3
        finally:
            stop_server(odd)


def test_a_cluster_of_another_version_is_refused(home: Installation) -> None:
    (home.data_dir / "postgres" / "PG_VERSION").write_text("15\n")
    with pytest.raises(StartupError, match="was created by PostgreSQL 15; this version of Openslot includes 18"):
        start_server(home.data_dir)


def test_a_server_that_does_not_start_says_why(home: Installation) -> None:
    (home.data_dir / "postgres" / "postgresql.conf").write_text("max_connections = many\n")
    with pytest.raises(StartupError, match=r"does not start: .*max_connections|configuration file .* contains errors"):
        start_server(home.data_dir)
    assert home.processes() == []


@pytest.fixture
def public_place(home: Installation) -> Iterator[Path]:
    """Lend the data directory in a place that every user can pass through."""
    with tempfile.TemporaryDirectory(prefix="openslot-test-") as place:
        os.chmod(place, 0o755)
        with moved(home, Path(place) / "data") as public:
            os.chmod(public, 0o755)
            yield public


@pytest.fixture
def without_namespaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take `unshare` away, and remove the system user afterwards where the test has made it."""
    programs = {name: shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin") for name in ("useradd", "userdel")}
    for name, path in programs.items():
        if path is None:
            pytest.skip(f"there is no {name} on this machine")
        (tmp_path / name).symlink_to(path)
    existed = any(user.pw_name == SYSTEM_USER for user in pwd.getpwall())
    monkeypatch.setenv("PATH", str(tmp_path))
    yield
    if not existed and any(user.pw_name == SYSTEM_USER for user in pwd.getpwall()):
        subprocess.run([tmp_path / "userdel", SYSTEM_USER], check=True, capture_output=True)


@pytest.fixture
def open_environment() -> None:
    """Leave a test out whose other user could not start a program of this environment."""
    if any(not parent.stat().st_mode & 1 for parent in Path(postgres_program("postgres")).parents):
        pytest.skip("the environment is in a private place, where no other user can start a program")


@for_root
@pytest.mark.usefixtures("open_environment", "without_namespaces")
async def test_without_namespaces_root_uses_a_system_user_and_can_go_back(
    public_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start_server(public_place)
    try:
        assert (public_place / "postgres").owner() == SYSTEM_USER
        assert await people(server.url) == 3
    finally:
        stop_server(public_place)
    monkeypatch.setenv("PATH", os.defpath)
    server = start_server(public_place)
    try:
        assert await people(server.url) == 3
    finally:
        stop_server(public_place)


@for_root
@pytest.mark.usefixtures("without_namespaces")
def test_without_namespaces_root_is_refused_a_private_place(home: Installation) -> None:
    (home.data_dir.parent).chmod(0o700)
    with pytest.raises(
        StartupError, match=r"the user openslot-postgres has no access to .*run Openslot as an ordinary user"
    ):
        start_server(home.data_dir)
    assert (home.data_dir / "postgres").stat().st_uid == 0


@for_root
@pytest.mark.usefixtures("open_environment")
def test_an_ordinary_user_needs_nothing_special() -> None:
    nobody = pwd.getpwnam("nobody")
    with tempfile.TemporaryDirectory(prefix="openslot-test-") as place:
        os.chown(place, nobody.pw_uid, nobody.pw_gid)
        # A fork, because the interpreter itself may be in a place where only root can start it.
        child = os.fork()
        if child == 0:
            code = 2
            try:
                code = _start_and_stop_as(nobody, Path(place) / "data")
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert (Path(place) / "data" / "postgres" / "PG_VERSION").owner() == "nobody"


def _start_and_stop_as(user: pwd.struct_passwd, data_dir: Path) -> int:
    os.setgroups([])
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)
    was_ready = start_server(data_dir).owned and find_server(data_dir) is not None
    stop_server(data_dir)
    return 0 if was_ready and find_server(data_dir) is None else 1
