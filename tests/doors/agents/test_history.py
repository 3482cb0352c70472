"""History from git, which starts no program of the repository's choice, and from release notes where there is none."""

import os
import subprocess
from pathlib import Path

import pytest

from openslot.doors.agents.codebase import Codebase
from openslot.doors.agents.history import read_history
from openslot.platform.core.errors import NotFound

WHO = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org", "GIT_AUTHOR_DATE": "2026-03-16T10:00:00+01:00"}
ENVIRONMENT = {
    **os.environ,
    **WHO,
    **{name.replace("AUTHOR", "COMMITTER"): value for name, value in WHO.items()},
    "GIT_CONFIG_GLOBAL": "/dev/null",
}
NOTES = "# Changelog\n\n## Unreleased\n\n- New\n\n## 0.2.0 - 2026-11-16\n\n- Second\n\n## 0.1.0 - 2026-10-01\n- First\n"


def git(folder: Path, *command: str, text: str | None = None) -> str:
    done = subprocess.run(
        ["git", *command], cwd=folder, env=ENVIRONMENT, input=text, text=True, capture_output=True, check=True
    )
    return done.stdout.strip()


def commit(folder: Path, path: str, words: str) -> None:
    (folder / path).parent.mkdir(exist_ok=True)
    (folder / path).write_text(words)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", words)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "CHANGELOG.md").write_text(NOTES)
    return folder


@pytest.fixture
def code(folder: Path) -> Codebase:
    return Codebase(root=folder, files=frozenset({"CHANGELOG.md"}), directories=frozenset({""}), closed=frozenset())


async def test_commits_of_a_path_are_listed_newest_first(code: Codebase, folder: Path) -> None:
    git(folder, "init", "-q")
    commit(folder, "a.py", "First")
    commit(folder, "lib/b.py", "Second\n\nwith a body")
    commit(folder, "a.py", "Third: ünï\x1fcode")

    everything = await read_history(code, "", limit=2)
    only = await read_history(code, "a.py", limit=5)

    assert (everything.source, everything.has_more) == ("git", True)
    assert [each.summary for each in everything.entries] == ["Third: ünï\x1fcode", "Second"]
    assert [each.summary for each in only.entries] == ["Third: ünï\x1fcode", "First"]
    first = only.entries[-1]
    assert (first.author, first.at and first.at.isoformat(), len(first.id)) == ("Ada", "2026-03-16T09:00:00+00:00", 40)
    assert (await read_history(code, "*.py", limit=5)).entries == []
    assert (await read_history(code, ":(top)a.py", limit=5)).entries == []


@pytest.mark.parametrize("path", ["../x", "/etc", ".git/config", "a\0b", "--output=/tmp/x", ".env"])
async def test_no_path_leads_out_or_becomes_an_option(code: Codebase, folder: Path, path: str) -> None:
    git(folder, "init", "-q")
    commit(folder, "a.py", "First")
    if path.startswith("--"):
        assert (await read_history(code, path, limit=5)).entries == []
        return
    with pytest.raises(NotFound):
        await read_history(code, path, limit=5)


async def test_the_repositorys_configuration_starts_no_program(code: Codebase, folder: Path, tmp_path: Path) -> None:
    git(folder, "init", "-q")
    commit(folder, "a.py", "First")
    trap, sprung = tmp_path / "trap", tmp_path / "sprung"
    trap.write_text(f"#!/bin/sh\ntouch {sprung}\n")
    trap.chmod(0o755)
    body = git(folder, "cat-file", "commit", "HEAD").split("\n\n", 1)
    signed = f"{body[0]}\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n AAAA\n -----END PGP SIGNATURE-----\n\nSigned\n"
    git(folder, "reset", "-q", "--soft", git(folder, "hash-object", "-t", "commit", "-w", "--stdin", text=signed))
    keys = ("gpg.program", "core.pager", "core.fsmonitor", "diff.external", "core.sshCommand", "credential.helper")
    for key in keys:
        git(folder, "config", key, str(trap))
    git(folder, "config", "log.showSignature", "true")
    git(folder, "config", "alias.log", f"!{trap}")
    sprung.unlink(missing_ok=True)

    found = await read_history(code, "", limit=5)

    assert [each.summary for each in found.entries] == ["Signed"]
    assert not sprung.exists()
    # The trap works: plain git starts the program.
    git(folder, "log")
    assert sprung.exists()


@pytest.mark.parametrize("broken", ["none", "empty", "above"])
async def test_release_notes_stand_in_for_git(code: Codebase, folder: Path, broken: str) -> None:
    if broken == "empty":
        (folder / ".git").mkdir()
    if broken == "above":
        git(folder.parent, "init", "-q")
        commit(folder.parent, "other.py", "Not ours")
        (folder / ".git").mkdir()

    found = await read_history(code, "openslot", limit=2)

    assert (found.source, found.has_more) == ("release_notes", True)
    assert [(each.id, each.at and each.at.date().isoformat(), each.summary) for each in found.entries] == [
        ("Unreleased", None, "- New"),
        ("0.2.0", "2026-11-16", "- Second"),
    ]


async def test_without_either_the_history_is_empty(code: Codebase, folder: Path) -> None:
    (folder / "CHANGELOG.md").unlink()
    (folder / "CHANGELOG.md").symlink_to("/etc/hostname")

    found = await read_history(code, "", limit=2)

    assert (found.source, found.entries, found.has_more) == ("none", [], False)
