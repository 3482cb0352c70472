"""Record every answer in full, to be compared before and after a change: `python -m tests.http.golden FILE`."""

import asyncio
import sys
import tempfile
from pathlib import Path

import msgspec

from openslot.core.config import load_settings
from openslot.core.embedded import start_server, stop_server
from openslot.core.log import set_up_logging
from openslot.core.migrate import migrate
from tests.http.golden.cases import all_cases
from tests.http.golden.scene import CHANGING, playing


async def record(url: str, folder: Path, target: Path) -> None:
    """Ask everything once and write down what was said."""
    await migrate(url)
    settings = load_settings({"database_url": url, "data_dir": folder, "log_level": "error"}, environ={})
    set_up_logging(settings)
    with target.open("wb") as out:
        async with playing(settings) as scene:
            for case in all_cases():
                sent = await scene.ask(case)
                is_measured = sent.body.startswith(b"# HELP") or "metrics" in case.target
                unsteady = CHANGING | ({"content-length"} if is_measured else set())
                headers = {f"{n}: {scene.steady(v)}" if n not in unsteady else n for n, v in sent.headers}
                body = scene.steady(sent.body.decode("utf-8", "replace")) if not is_measured else ""
                line = {"case": str(case), "status": sent.status, "headers": sorted(headers), "body": body}
                out.write(msgspec.json.encode(line) + b"\n")


def main() -> None:
    """Start a PostgreSQL for the recording."""
    folder = Path(tempfile.mkdtemp())
    server = start_server(folder, options={"fsync": "off", "synchronous_commit": "off"})
    try:
        asyncio.run(record(server.url, folder, Path(sys.argv[1])))
    finally:
        stop_server(folder)


if __name__ == "__main__":
    main()
