"""A container engine runs what is documented: build, start, book through Caddy, upgrade from the last release, stop."""

import json
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from openslot import __version__
from openslot.platform.core.build import ask_git
from proofs.releases import CannotBuild, check_history
from tests.packaging.support import ROOT, blocks, section
from tests.support.engine import BUILDS_WITHIN, CannotRun, Engine, engine
from tests.support.parts import LONG
from tests.support.site import Site
from tests.upgrades.statements import load_release

# Three images are built: five minutes on two quiet cores, and a quarter of an hour on busy ones.
pytestmark = pytest.mark.skipif(
    not LONG, reason="building images takes long: OPENSLOT_LONG=1 and `make prove` run this"
)

HOST = "book.localhost"
# compose.yaml says so.
CADDY = "172.28.80.2"
# Something else may listen on this machine's ports 80 and 443.
OVERRIDE = """
services:
  openslot: {build: {network: host}}
  caddy: {ports: !override []}
"""


def documented() -> tuple[str, str]:
    """Return the commands that prepare an installation with compose, and those that start it."""
    page = (ROOT / "docs/install.md").read_text("utf-8").partition("\n## With compose\n")[2]
    commands = blocks(page)[0].replace("sudo ", "").replace("book.example.com", HOST)
    prepare, mark, start = commands.partition("COMMIT=")
    return prepare, mark + start


PREPARE, START = documented()


@pytest.fixture(scope="module")
def docker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    place = tmp_path_factory.mktemp("engine")
    try:
        with engine(place) as lent:
            (place / "override.yaml").write_text(OVERRIDE)
            lent.environment["COMPOSE_FILE"] = f"compose.yaml:{place}/override.yaml"
            yield lent
    except CannotRun as why:
        pytest.skip(f"No container engine runs here. {why}")


def prepare(docker: Engine, place: Path, commit: str) -> Path:
    """Check a commit out, for HEAD with what was changed since, and build its image as compose does."""
    git = ["git", "-C", str(ROOT)]
    subprocess.run([*git, "clone", "--quiet", "--shared", "--no-checkout", str(ROOT), str(place)], check=True)
    subprocess.run(["git", "-C", str(place), "checkout", "--quiet", "--detach", commit], check=True)
    if commit == "HEAD":
        changed = subprocess.run([*git, "ls-files", "-mo", "--exclude-standard"], check=True, capture_output=True)
        for name in changed.stdout.decode().splitlines():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place / name)
    docker.run("sh", "-ec", PREPARE, cwd=place)
    try:
        docker.build("sh", "-ec", "COMMIT=$(git rev-parse --short=12 HEAD) docker compose build", cwd=place)
    except CannotRun as why:
        pytest.skip(str(why))
    return place


@pytest.fixture(scope="module")
def today(docker: Engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of this version, with its image built."""
    if not ask_git(ROOT):
        pytest.skip("The documented commands ask git for the commit, and this is not a clone of the repository.")
    return prepare(docker, tmp_path_factory.mktemp("today") / "openslot", "HEAD")


@pytest.fixture(scope="module")
def release(docker: Engine, today: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the last release, with its image built."""
    last = load_release()
    try:
        check_history(last.commit)
    except CannotBuild as why:
        pytest.skip(str(why))
    return prepare(docker, tmp_path_factory.mktemp("release") / "openslot", last.commit)


def behind_caddy(docker: Engine, place: Path) -> Site:
    """Return the service as the world reaches it, with a certificate of Caddy's own authority."""
    find = "until cat /data/caddy/pki/authorities/local/root.crt 2>/dev/null; do sleep 0.2; done"
    root = docker.run("docker", "compose", "exec", "caddy", "sh", "-c", find, cwd=place)
    return Site(f"https://{CADDY}", HOST, ssl.create_default_context(cadata=root))


def seed(docker: Engine, *within: str, cwd: Path) -> str:
    """Fill a service with demo data, and return an API key."""
    said = docker.run("docker", *within, "openslot", "seed", "--json", cwd=cwd)
    return str(json.loads(said)["apiKey"])


def check_that_it_worked(docker: Engine, way: str, place: Path) -> None:
    """Run what the documentation has for it."""
    version, doctor = blocks(section(way).partition("How to see that it worked")[2])[0].splitlines()

    said = docker.run("sh", "-c", version, cwd=place)
    assert said == f"openslot {__version__} ({ask_git(place)})\n"
    assert "The database is up to date." in docker.call("sh", "-c", doctor, cwd=place).stdout


def test_compose_starts_and_a_time_is_booked_through_caddy(docker: Engine, today: Path) -> None:
    said = docker.run("sh", "-ec", START, cwd=today, within=BUILDS_WITHIN)
    site = behind_caddy(docker, today)
    site.wait_until_ready()
    key = seed(docker, "compose", "exec", "openslot", cwd=today)

    assert site.has(site.book(key), key)
    assert site.ask("GET", "/mara/intro-call").headers["strict-transport-security"] == "max-age=63072000"
    assert site.ask("GET", "/metrics").status_code == 404
    assert f"https://{HOST}/setup?token=" in said + docker.run("docker", "compose", "logs", "openslot", cwd=today)
    image = json.loads(docker.run("docker", "image", "inspect", f"openslot:{__version__}"))[0]
    health = image["Config"]["Healthcheck"]["Test"]
    assert health[0] == "CMD"
    docker.run("docker", "compose", "exec", "openslot", *health[1:], cwd=today)

    docker.run("docker", "compose", "down", "--volumes", cwd=today)
    assert docker.run("docker", "ps", "--all", "--quiet") == ""


def test_compose_is_upgraded_from_the_last_release(docker: Engine, release: Path, today: Path) -> None:
    # Its network may give Openslot the address of Caddy, so that Caddy does not start.
    docker.run("docker", "compose", "up", "--detach", "openslot", cwd=release)
    address = docker.read_address("openslot-openslot-1", "openslot_front")
    before = Site(f"http://{address}:8000", HOST)
    before.wait_until_ready()
    key = seed(docker, "compose", "exec", "openslot", cwd=release)
    booking_id = before.book(key)

    shutil.rmtree(today / "secrets")
    for name in ("secrets", ".env"):
        docker.run("cp", "-a", str(release / name), str(today), cwd=today)
    backup, upgrade = blocks(section("Compose").partition("How to see that it worked")[0])[0].splitlines()
    assert "`docker compose down` between the two" in section("Compose")
    docker.run("sh", "-ec", backup, cwd=release)
    docker.run("docker", "compose", "down", cwd=release)
    docker.run("sh", "-ec", upgrade, cwd=today, within=BUILDS_WITHIN)
    site = behind_caddy(docker, today)
    site.wait_until_ready()

    check_that_it_worked(docker, "Compose", today)
    assert site.has(booking_id, key)
    assert site.has(site.book(key), key)
    docker.run("docker", "compose", "down", "--volumes", cwd=today)


def test_a_container_is_upgraded_from_the_last_release(docker: Engine, release: Path, today: Path) -> None:
    docker.run("docker", "network", "create", "alone")
    old = f"openslot:{load_release().version}"
    run = "podman run -d --name openslot -p 8000:8000 -v openslot:/data "
    upgrade = blocks(section("A container").partition("How to see that it worked")[0])[0]
    assert run in upgrade
    # The engine has no network that containers join by themselves.
    here = "podman run -d --name openslot --network alone -v openslot:/data "
    docker.run("sh", "-ec", here + old, cwd=today)
    before = alone(docker)
    before.wait_until_ready()
    key = seed(docker, "exec", "openslot", cwd=today)
    booking_id = before.book(key)

    docker.run("sh", "-ec", upgrade.replace(run, here), cwd=today, within=BUILDS_WITHIN)
    after = alone(docker)
    after.wait_until_ready()

    check_that_it_worked(docker, "A container", today)
    assert after.has(booking_id, key)
    assert after.has(after.book(key), key)
    docker.run("docker", "rm", "--force", "--volumes", "openslot")


def alone(docker: Engine) -> Site:
    address = docker.read_address("openslot", "alone")
    return Site(f"http://{address}:8000", f"{address}:8000")
