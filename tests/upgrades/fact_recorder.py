"""A plugin of pytest that keeps the facts which tests have caused, before their databases are dropped."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import asyncpg
import msgspec
import pytest

FACTS = "select type, fact::text as fact, public::text as public from public.events"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Read the facts of a test's own database while it is there."""
    url = getattr(item, "funcargs", {}).get("database_url")
    if url is not None:
        reading = Thread(target=_keep, args=(url,))
        reading.start()
        reading.join()
    return (yield)


def _keep(url: str) -> None:
    with Path(os.environ["RECORD_FACTS_TO"], f"{os.getpid()}.jsonl").open("ab") as file:
        file.writelines(msgspec.json.encode(dict(row)) + b"\n" for row in asyncio.run(_read(url)))


async def _read(url: str) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(url)
    try:
        rows: list[asyncpg.Record] = await connection.fetch(FACTS)
        return rows
    finally:
        await connection.close()
