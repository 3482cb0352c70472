"""What a page weighs in a browser that has nothing yet: the page and all files that it loads."""

import re
from urllib.parse import urljoin

import httpx2
from msgspec import Struct

LOADED = re.compile(r'(?:href|src)="(/(?:static|photos)/[^"#]+)')
IMPORTED = re.compile(r'(?:from|import) "(\.{1,2}/[^"]+)"')
# These are named by a page and loaded by nobody who looks at it.
NAMED = re.compile(r'<(?:meta|link rel="(?:canonical|alternate)")[^>]*>')


class Weight(Struct, frozen=True):
    """Bytes of a page with all that it loads."""

    on_the_wire: int
    unpacked: int


async def weigh(client: httpx2.AsyncClient, path: str) -> Weight:
    """Load a page as a browser does that takes gzip."""
    page = await _load(client, path)
    waiting = {each.partition("?")[0] for each in LOADED.findall(NAMED.sub("", page.text))}
    answers, loaded = [page], set[str]()
    while waiting:
        file = waiting.pop()
        loaded.add(file)
        answers.append(await _load(client, file))
        if file.endswith(".js"):
            waiting |= {urljoin(file, each) for each in IMPORTED.findall(answers[-1].text)} - loaded
    return Weight(
        sum(int(each.headers["content-length"]) for each in answers), sum(len(each.content) for each in answers)
    )


async def _load(client: httpx2.AsyncClient, path: str) -> httpx2.Response:
    answer = await client.get(path, headers={"accept-encoding": "gzip"})
    assert answer.status_code == 200, path
    return answer
