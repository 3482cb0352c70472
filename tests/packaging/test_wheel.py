"""The wheel is the whole product: installed into an empty environment and run in an empty folder, it serves."""

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx2
import pytest
from packaging.version import Version

from openslot import __version__
from openslot.platform.core.build import ask_git
from proofs.releases import CannotBuild, build_wheel_of, check_history
from tests.packaging.support import NOT_OURS, build_wheel
from tests.support.installation import END_WITHIN
from tests.support.ports import held_port
from tests.upgrades.statements import load_release

ROOT = Path(__file__).parents[2]
# Nothing is compiled yet, and the demo data are made first.
READY_WITHIN = 120.0
BUILT_FROM = "0123456789ab"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that `make wheel` writes."""
    place = tmp_path_factory.mktemp("wheel")
    return build_wheel(place, commit=BUILT_FROM)


@pytest.fixture(scope="module")
def bin_dir(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of an environment that has the wheel, what it asks for in the locked versions, and nothing else."""
    place = tmp_path_factory.mktemp("environment")
    uv, python = str(Path(sys.executable).with_name("uv")), str(place / "bin/python")
    subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, place], check=True)
    install = [uv, "pip", "install", "--quiet", "--system-certs", "--python", python]
    subprocess.run([*install, "--constraint", str(ROOT / "requirements/runtime.txt"), str(wheel)], check=True)
    return place / "bin"


class Service:
    """What was installed, in a folder of its own, as somebody runs it who has read the first page of the manual."""

    def __init__(self, bin_dir: Path, folder: Path, port: int) -> None:
        self.folder, self.base_url = folder, f"http://127.0.0.1:{port}"
        self._openslot = str(bin_dir / "openslot")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(NOT_OURS)}
        self._environment = {**kept, "OPENSLOT_PORT": str(port)}

    def start(self) -> "subprocess.Popen[bytes]":
        """Run everything with demo data."""
        out, err = self.folder.with_suffix(".out"), self.folder.with_suffix(".err")
        with out.open("wb") as to, err.open("wb") as errors:
            command = [self._openslot, "serve", "--demo"]
            return subprocess.Popen(command, cwd=self.folder, env=self._environment, stdout=to, stderr=errors)

    def run(self, *arguments: str) -> str:
        """Run a command to its end, and return what it printed."""
        command = [self._openslot, *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=self._environment, check=True, capture_output=True, text=True
        ).stdout

    def ask(self, method: str, path: str, **options: Any) -> httpx2.Response:
        """Send one request."""
        with httpx2.Client(base_url=self.base_url, verify=False, trust_env=False, timeout=30) as client:
            return client.request(method, path, **options)

    def wait_until_ready(self, process: "subprocess.Popen[bytes]") -> None:
        """Wait until database, migrations and a worker are there."""
        deadline = time.monotonic() + READY_WITHIN
        while time.monotonic() < deadline:
            assert process.poll() is None, self.folder.with_suffix(".err").read_text()
            try:
                if self.ask("GET", "/readyz").status_code == 200:
                    return
            except httpx2.HTTPError:
                pass
            time.sleep(0.1)
        raise AssertionError(self.folder.with_suffix(".err").read_text())


@pytest.fixture(scope="module")
def service(bin_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The running service, which ends in order when it is told to."""
    folder = tmp_path_factory.mktemp("empty")
    with held_port() as port:
        service = Service(bin_dir, folder, port)
        process = service.start()
        try:
            service.wait_until_ready(process)
            yield service
        finally:
            process.send_signal(signal.SIGTERM)
            code = process.wait(END_WITHIN)
    assert code == 0
    assert sorted(each.name for each in folder.iterdir()) == ["data"]


def test_wheel_has_every_file_of_the_package_and_no_other(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    packed = [name for name in names if not name.startswith(f"openslot-{__version__}.dist-info/")]
    files = (path for path in (ROOT / "openslot").rglob("*") if path.is_file() and "__pycache__" not in path.parts)

    # The release notes are the history that agents are shown where there is no git.
    # The commit is what `openslot --version` names.
    wanted = ["openslot/CHANGELOG.md", "openslot/COMMIT", *(str(path.relative_to(ROOT)) for path in files)]
    assert sorted(packed) == sorted(wanted)
    kinds = {Path(name).suffix for name in packed}
    assert {".py", ".html", ".css", ".js", ".po", ".sql", ".typed"} <= kinds


def test_version_is_written_in_one_place(wheel: Path, bin_dir: Path, tmp_path: Path) -> None:
    said = subprocess.run(
        [bin_dir / "openslot", "--version"], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout

    assert said == f"openslot {__version__} ({BUILT_FROM})\n"
    assert version("openslot") == __version__
    assert wheel.name == f"openslot-{__version__}-py3-none-any.whl"
    assert all(wheel.name in (ROOT / page).read_text("utf-8") for page in ("README.md", "docs/install.md"))
    literals = [path for path in (ROOT / "openslot").rglob("*.py") if f'"{__version__}"' in path.read_text("utf-8")]
    assert literals == [ROOT / "openslot/__init__.py"]


def test_a_wheel_that_is_built_in_a_checkout_names_its_commit(tmp_path: Path) -> None:
    with zipfile.ZipFile(build_wheel(tmp_path)) as archive:
        written = [archive.read(name) for name in archive.namelist() if name == "openslot/COMMIT"]

    assert written == [f"{commit}\n".encode() for commit in [ask_git(ROOT)] if commit]


def test_the_number_is_after_that_of_the_last_release() -> None:
    release = load_release()
    try:
        check_history(release.commit)
    except CannotBuild as why:
        pytest.skip(str(why))
    same = ["git", "-C", str(ROOT), "diff", "--quiet", release.commit, "--", "openslot", ":!openslot/__init__.py"]

    assert subprocess.run(same, check=False).returncode == 0 or Version(__version__) > Version(release.version)


def test_a_wheel_of_today_replaces_the_last_release(wheel: Path, tmp_path: Path) -> None:
    release = load_release()
    try:
        old = build_wheel_of(release.commit, tmp_path / "release")
    except CannotBuild as why:
        pytest.skip(str(why))
    place, program = tmp_path / "environment", tmp_path / "environment/bin/openslot"
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    install = [str(place / "bin/pip"), "install", "--quiet", "--no-deps"]

    installed = []
    for each in (old, wheel):
        subprocess.run([*install, str(each)], check=True)
        (found,) = place.glob("lib/*/site-packages/openslot-*.dist-info")
        installed.append(found.name)

    assert program.exists()
    assert installed == [f"openslot-{version}.dist-info" for version in (release.version, __version__)]


def test_installed_service_shows_its_pages(service: Service) -> None:
    health = service.ask("GET", "/healthz")
    sign_in = service.ask("GET", "/login")
    booking = service.ask("GET", "/mara/intro-call")
    german = service.ask("GET", "/mara/intro-call", headers={"Accept-Language": "de"})

    assert [each.status_code for each in (health, sign_in, booking, german)] == [200] * 4
    assert "Sign in" in sign_in.text
    assert "Mara Lindqvist" in booking.text
    assert 'lang="de"' in german.text
    assert "Zeitzone" in german.text


def test_installed_service_has_its_assets_and_says_its_version(service: Service) -> None:
    sheet = sign_in_sheet(service.ask("GET", "/login").text)
    widget = service.ask("GET", "/widget.js")
    description = service.ask("GET", "/api/openapi.json").json()

    assert service.ask("GET", sheet).headers["content-type"].startswith("text/css")
    assert "customElements.define" in widget.text
    assert description["info"]["version"] == __version__


def test_what_is_booked_at_the_installed_service_is_confirmed_by_mail(service: Service) -> None:
    keys = json.loads(service.run("seed", "--json"))
    bearer = {"Authorization": f"Bearer {keys['apiKey']}"}
    slots = service.ask("GET", "/api/v1/availability/intro-call?timezone=Europe/Berlin", headers=bearer).json()
    wanted = {
        "eventTypeSlug": "intro-call",
        "startTime": slots["data"][0]["startTime"],
        "inviteeName": "Jonas Okafor",
        "inviteeEmail": "jonas@okafor.example",
        "inviteeTimezone": "Africa/Lagos",
    }

    booked = service.ask("POST", "/api/v1/bookings", headers=bearer, json=wanted)

    assert booked.status_code == 200, booked.text
    wait_for_mail(service, booked.json()["bookingId"])


def sign_in_sheet(page: str) -> str:
    """Find the address of the page's first stylesheet."""
    return page.partition('rel="stylesheet" href="')[2].partition('"')[0]


def wait_for_mail(service: Service, booking_id: str) -> None:
    """Wait until the worker has written to both, the host and the invitee."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        mails = json.loads(service.run("mail", "list", "--booking", booking_id, "--json"))["mail"]
        if len(mails) == 2:
            return
        time.sleep(0.2)
    raise AssertionError(mails)
