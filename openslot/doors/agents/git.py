"""git, asked in such a way that no configuration of a repository starts programs or reads other files."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

ANSWERS_WITHIN = 3.0
"""Seconds."""

_HARMLESS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.sshCommand=false",
    "gpg.program=false",
    "gpg.ssh.program=false",
    "gpg.x509.program=false",
    "log.showSignature=false",
    "log.mailmap=false",
    "mailmap.file=",
    "mailmap.blob=",
    "protocol.allow=never",
    "credential.helper=",
)
OPTIONS = ("--no-pager", "--no-replace-objects", *(part for each in _HARMLESS for part in ("-c", each)))
# git reads no configuration but the repository's own, and contacts nobody.
ENVIRONMENT: Mapping[str, str] = {
    "PATH": os.defpath,
    "LC_ALL": "C.UTF-8",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}


def list_tracked(root: Path) -> frozenset[str]:
    """List the files below a directory that git tracks; none if it is in no repository, or git can't tell."""
    program = shutil.which("git")
    if program is None:
        return frozenset()
    # The owner of the files need not be who runs the service: only their names are read.
    command = [program, *OPTIONS, "-c", "safe.directory=*", "-C", str(root), "ls-files", "-z", "--cached"]
    try:
        done = subprocess.run(  # noqa: S603 - our own program with our own arguments
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=ENVIRONMENT,
            timeout=ANSWERS_WITHIN,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return frozenset()
    names = done.stdout if done.returncode == 0 else b""
    return frozenset(os.fsdecode(name) for name in names.split(b"\0") if name)
