"""Counts the statements that an answer takes."""

from typing import Any

import httpx2

MAX_STATEMENTS = 5


class CountingPool:
    """A pool that remembers what it was asked."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._pool, name)
        if name == "opening":
            # It asks nothing: it is a part of what a transaction begins with.
            return method

        def noted(*arguments: Any, **named: Any) -> Any:
            self.asked.append(str(arguments[0]) if arguments else name)
            return method(*arguments, **named)

        return noted


async def count_statements(client: httpx2.AsyncClient, pool: CountingPool, path: str) -> tuple[int, int]:
    await client.get(path)
    pool.asked.clear()
    answer = await client.get(path)
    return answer.status_code, len(pool.asked)
