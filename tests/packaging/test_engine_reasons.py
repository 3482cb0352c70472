"""Where no container engine runs, its own words are the reason; what fails for another reason is a failure."""

from pathlib import Path

import pytest

from tests.packaging.support import write_stub
from tests.support.engine import CannotRun, Engine


def test_an_engine_that_does_not_start_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_stub(
        tmp_path / "bin/dockerd", "echo starting; echo 'failed to mount overlay: operation not permitted'; exit 1"
    )
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")

    with pytest.raises(CannotRun) as why:
        Engine(tmp_path / "engine").start()
    assert str(why.value) == "dockerd does not start: failed to mount overlay: operation not permitted"


def test_packages_that_a_container_cannot_reach_are_named_and_other_failures_fail(tmp_path: Path) -> None:
    engine = Engine(tmp_path / "engine")

    with pytest.raises(CannotRun, match=r"^Packages can't be reached from a container: E: Failed to fetch a\.deb$"):
        engine.build("sh", "-c", "echo 'E: Failed to fetch a.deb' >&2; echo more; exit 1", cwd=tmp_path)
    with pytest.raises(AssertionError, match="no such file"):
        engine.build("sh", "-c", "echo 'COPY: no such file'; exit 1", cwd=tmp_path)
    engine.build("sh", "-c", "echo 'E: Failed to fetch a.deb, trying again'", cwd=tmp_path)
