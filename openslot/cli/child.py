"""What the supervisor starts: one web process or one worker, without the command line's own weight."""

import sys

from openslot.cli import run


def web() -> None:
    """Serve on the supervisor's socket; loaded first, so that loading overlaps with the database's start."""
    from openslot.cli.environment import settings
    from openslot.cli.web import serve_web

    serve_web(settings())


def worker() -> None:
    """Work."""
    from openslot.cli.work import work

    work()


if __name__ == "__main__":
    run({"web": web, "worker": worker}[sys.argv[1]])
