"""A worker process whose mail goes to a server on loopback."""

import asyncio
import signal
from pathlib import Path

from msgspec.structs import replace

from openslot.core.config import load_settings
from openslot.core.log import set_up_logging
from openslot.core.smtp import MailFrom, SmtpUrl
from openslot.jobs.worker import run_worker
from openslot.runtime import open_runtime
from openslot.wiring import WIRING


def run(url: str, data_dir: str, port: str) -> None:
    """Work until a signal comes."""
    asyncio.run(_work(url, data_dir, port))


async def _work(url: str, data_dir: str, port: str) -> None:
    settings = load_settings({"database_url": url, "data_dir": Path(data_dir), "log_level": "error"}, environ={})
    chosen = replace(
        settings,
        smtp_url=SmtpUrl.parse(f"smtp://127.0.0.1:{port}?starttls=never"),
        mail_from=MailFrom.parse("bookings@here.example"),
    )
    set_up_logging(chosen)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with open_runtime(chosen, wiring=replace(WIRING, periodic=())) as runtime:
        await run_worker(runtime, stop)
