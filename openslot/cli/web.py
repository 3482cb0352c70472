"""Run uvicorn with our app: one process, or several on one socket."""

import asyncio
import os
import signal
import socket
import sys
import tempfile
from types import FrameType

import uvicorn
from uvicorn.supervisors import Multiprocess

from openslot.cli.listening import listen
from openslot.cli.running import direct_url
from openslot.core.config import Settings
from openslot.core.log import set_up_logging
from openslot.core.migrate import migrate

GRACE_SECONDS = 30


def serve_web(settings: Settings, *, processes: int) -> None:
    """Serve until told to stop; requests in flight are answered first."""
    listener = listen(settings)
    set_up_logging(settings)
    asyncio.run(migrate(direct_url(settings)))
    signal.signal(signal.SIGTERM, _end)
    if processes == 1:
        uvicorn.Server(_config()).run(sockets=[listener])
        return
    with tempfile.TemporaryDirectory(prefix="openslot-metrics-") as directory:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = directory
        config = _config(workers=processes)
        _run_several(config, listener)


def _run_several(config: uvicorn.Config, listener: socket.socket) -> None:
    server = uvicorn.Server(config)
    Multiprocess(config, target=server.run, sockets=[listener]).run()


def _config(workers: int = 1) -> uvicorn.Config:
    return uvicorn.Config(
        "openslot.app:create_app_from_environment",
        factory=True,
        workers=workers,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=65,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


def _end(_signal: int, _frame: FrameType | None) -> None:
    # uvicorn raises the signal again once everything is answered: that is a clean end, not a death.
    sys.exit(0)
