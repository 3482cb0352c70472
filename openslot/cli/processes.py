"""serve, web, worker: the processes of an installation."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from openslot.processes.environment import choose, settings

app = typer.Typer(add_completion=False)

HostOption = Annotated[str | None, typer.Option(help="The address to listen on (OPENSLOT_HOST)")]
Port = Annotated[int | None, typer.Option(help="The port to listen on (OPENSLOT_PORT)")]
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
    sys.exit(supervise(settings(), web_processes=workers, demo=demo))


@app.command()
def web(host: HostOption = None, port: Port = None, workers: Workers = 1) -> None:
    """Run only web processes."""
    choose(host=host, port=port)
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

    work(heartbeat=heartbeat)
