"""Refused authentications: counted for the metrics, and addresses that are kept out are named in the log."""

import math
from collections.abc import Callable
from time import monotonic

import structlog
from prometheus_client import Counter

# By nothing that a caller chooses: anybody could create any number of series.
REFUSED = Counter(
    "openslot_refused_credentials",
    "Keys, tokens, passwords and codes that were refused: wrong ones, and those after too many wrong ones.",
    ("credential", "why"),
)
PASSWORD = "password"  # noqa: S105 - the name of the kind
NAMED_EVERY = 60.0
# An attack comes from thousands of addresses, and must not fill the disk.
NAMED_AT_MOST = 20

log = structlog.get_logger()


class KeptOut:
    """Which addresses the log of this process has named within the minute."""

    def __init__(self, *, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._begun_at = -math.inf
        self._named: set[str] = set()

    def name(self, address: str, credential: str) -> None:
        """Name an address, once a minute; if they are many, only the first, and that there are more."""
        now = self._clock()
        if now - self._begun_at >= NAMED_EVERY:
            self._begun_at = now
            self._named.clear()
        if address in self._named or len(self._named) > NAMED_AT_MOST:
            return
        self._named.add(address)
        if len(self._named) > NAMED_AT_MOST:
            log.warning("too many failed authentications from more addresses than are named in a minute")
            return
        log.warning("too many failed authentications", address=address, credential=credential)


KEPT_OUT = KeptOut()


def note_wrong(credential: str) -> None:
    REFUSED.labels(credential, "wrong").inc()


def note_kept_out(credential: str, address: str | None) -> None:
    """Count one of too many; the tries of somebody who is signed in or known have no address."""
    REFUSED.labels(credential, "too_many").inc()
    if address is not None:
        KEPT_OUT.name(address, credential)
