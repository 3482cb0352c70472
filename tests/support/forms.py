"""Forms as other sites and strangers send them."""

from collections.abc import Iterable, Iterator
from itertools import cycle

NOBODY = "01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e8f"


FOREIGN = (
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://127.0.0.1"},
    {"origin": "http://["},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
)


def from_other_sites(paths: Iterable[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Give each form one of these in turn: one door looks at all forms, and here all of these are tried."""
    return zip(paths, cycle(FOREIGN), strict=False)
