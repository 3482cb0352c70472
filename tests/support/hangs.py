"""No input keeps a parser for longer than a second: measured in processor time, which other load does not lengthen."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import process_time

AT_MOST = 1.0


@contextmanager
def within_a_second(given: object) -> Iterator[None]:
    """Fail if this process computes for more than a second with an input, whether it is taken or refused."""
    began = process_time()
    try:
        yield
    finally:
        took = process_time() - began
        assert took <= AT_MOST, f"{took:.2f} s of processor time for {given!r:.300}"
