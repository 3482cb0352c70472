"""What the supervisor forks: one web process or one worker."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from openslot.cli import run
from openslot.cli.forking import begin_fork

# What `ps` and `top` show; a fork has the command line of the supervisor.
NAME = Path("/proc/self/comm")


def become(kind: str, inherited: Mapping[str, int]) -> None:
    """Run as this kind of process, with descriptors from the supervisor, until told to stop."""
    begin_fork(keeping=inherited.values())
    # In its own session, so that Ctrl-C reaches only the supervisor.
    os.setsid()
    os.environ.update({name: str(descriptor) for name, descriptor in inherited.items()})
    with suppress(OSError):
        NAME.write_text(f"openslot-{kind}")
    run({"web": _web, "worker": _worker}[kind])


def _web() -> None:
    from openslot.cli.environment import settings
    from openslot.cli.web import serve_web

    serve_web(settings())


def _worker() -> None:
    from openslot.cli.work import work

    work()
