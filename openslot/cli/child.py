"""What the supervisor starts: one web process or one worker, without loading the whole command line."""

import sys

from openslot.cli import run


def web() -> None:
    """Serve on the supervisor's socket; modules are loaded while the database starts."""
    from openslot.cli.environment import settings
    from openslot.cli.web import serve_web

    serve_web(settings())


def worker() -> None:
    """Run a worker."""
    from openslot.cli.work import work

    work()


if __name__ == "__main__":
    run({"web": web, "worker": worker}[sys.argv[1]])
