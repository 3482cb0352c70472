"""One web process: uvicorn with our app, and as many open files as the machine allows."""

import asyncio
import resource
import signal
import socket
from types import FrameType

import uvicorn

from openslot.app import create_app
from openslot.doors.http.protocol import protocol_for
from openslot.platform.core.config import Settings
from openslot.platform.core.log import set_up_logging
from openslot.platform.core.migrate import bring_up_to_date, direct_url
from openslot.platform.core.work import Wiring
from openslot.processes.environment import database
from openslot.processes.exits import IS_UNDER_NOHUP, leave_on_signals
from openslot.processes.inheritance import beating, listen
from openslot.processes.runtimes import check_runtime, check_secrets
from openslot.wiring import WIRING

ENOUGH = 65_536


def raise_descriptor_limit() -> int:
    """Raise the soft limit as far as the machine allows and the service can use; return the new limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


class _Server(uvicorn.Server):
    """A server that sends heartbeats to the supervisor."""

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        async with beating():
            await super().serve(sockets)


def serve_web(settings: Settings, wiring: Wiring = WIRING) -> None:
    """Serve until told to stop; requests in progress are answered first."""
    # uvicorn raises its signal again once every request is answered: that is a clean exit, not a crash.
    leave_on_signals(0)
    raise_descriptor_limit()
    listener = listen(settings)
    with database(settings) as ready:
        set_up_logging(ready)
        asyncio.run(_prepare(ready, wiring))
        if not IS_UNDER_NOHUP:
            signal.signal(signal.SIGHUP, _end)
        _Server(_config(ready, wiring)).run(sockets=[listener])


async def _prepare(ready: Settings, wiring: Wiring) -> None:
    await check_secrets(ready)
    await bring_up_to_date(direct_url(ready), wiring.migrations)
    await check_runtime(ready)


def _config(settings: Settings, wiring: Wiring) -> uvicorn.Config:
    return uvicorn.Config(
        create_app(settings, wiring=wiring),
        loop="uvloop",
        http=protocol_for(settings),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=30,
    )


def _end(_signal: int, _frame: FrameType | None) -> None:
    signal.raise_signal(signal.SIGTERM)
