"""serve, web, worker: the processes of an installation."""

import sys
from pathlib import Path
from typing import Annotated

import structlog
import typer

from openslot.platform.core.config import Settings
from openslot.platform.core.environment import find_unknown
from openslot.platform.core.log import set_up_logging
from openslot.processes.environment import choose, settings

app = typer.Typer(add_completion=False)
log = structlog.get_logger()

HostOption = Annotated[str | None, typer.Option(help="The address to listen on (OPENSLOT_HOST)")]
# The setting says what is wrong with it, in the same words as for the variable.
Port = Annotated[str | None, typer.Option(metavar="INTEGER", help="The port to listen on (OPENSLOT_PORT)")]
Workers = Annotated[int, typer.Option(min=1, max=64, help="Number of web processes")]


@app.command()
def serve(
    host: HostOption = None,
    port: Port = None,
    workers: Workers = 1,
    demo: Annotated[bool, typer.Option("--demo", help="Create demo data in an empty database")] = False,
) -> None:
    """Run everything: the web server, a worker and, unless DATABASE_URL is set, the database."""
    from openslot.processes.supervisor import serve as supervise

    choose(host=host, port=port)
    _warn(settings())
    sys.exit(supervise(settings(), web_processes=workers, demo=demo))


@app.command()
def web(host: HostOption = None, port: Port = None, workers: Workers = 1) -> None:
    """Run only web processes."""
    choose(host=host, port=port)
    _announce(settings(), "web starts", address=f"{settings().host}:{settings().port}")
    if workers > 1:
        from openslot.processes.supervisor import serve_web_processes

        sys.exit(serve_web_processes(settings(), workers))
    from openslot.processes.web import serve_web

    serve_web(settings())


@app.command()
def worker(
    heartbeat: Annotated[
        Path | None, typer.Option(help="A file that is touched every five seconds while the worker responds")
    ] = None,
) -> None:
    """Run only a worker. You can run several, on any machine."""
    from openslot.processes.worker import work

    _announce(settings(), "worker starts")
    work(heartbeat=heartbeat)


def _announce(chosen: Settings, begins: str, **known: object) -> None:
    """Say in one line what begins, of which version, on which database."""
    from openslot.platform.core.build import describe_version
    from openslot.platform.core.connecting import hide_password

    _warn(chosen)
    url = chosen.database_url
    database = hide_password(url) if url else f"the embedded one in {chosen.data_dir.absolute()}"
    log.info(begins, version=describe_version(), **known, database=database)


def _warn(chosen: Settings) -> None:
    """Say which variables nothing reads; most of them are misspelled."""
    set_up_logging(chosen)
    for name, near in find_unknown().items():
        meant = {"did_you_mean": near} if near else {}
        log.warning("a variable is not a setting and has no effect", variable=name, **meant)
