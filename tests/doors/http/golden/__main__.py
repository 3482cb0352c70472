"""Record the answers and the API's description anew: `python -m tests.doors.http.golden`, then read the difference."""

import asyncio
import tempfile
from pathlib import Path

from openslot.platform.core.embedded import start_server, stop_server
from openslot.platform.core.environment import load_settings
from openslot.platform.core.log import set_up_logging
from openslot.platform.core.migrate import migrate
from tests.doors.http.golden.recording import ANSWERS, DESCRIPTION, list_answers, read_description


async def record(url: str, folder: Path) -> None:
    """Ask everything once and write down what was said."""
    await migrate(url)
    settings = load_settings({"database_url": url, "data_dir": folder, "log_level": "error"}, environ={})
    set_up_logging(settings)
    ANSWERS.write_text("\n".join([line async for line in list_answers(settings)]) + "\n", "utf-8")
    DESCRIPTION.write_text(read_description(), "utf-8")


def main() -> None:
    """Start a PostgreSQL for the recording."""
    folder = Path(tempfile.mkdtemp())
    server = start_server(folder, options={"fsync": "off", "synchronous_commit": "off"})
    try:
        asyncio.run(record(server.url, folder))
    finally:
        stop_server(folder)


if __name__ == "__main__":
    main()
