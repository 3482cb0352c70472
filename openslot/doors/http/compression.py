"""Compression: which answers are sent as gzip, and to whom.

An answer is compressed if its handler says that it is the same for everyone, and never if it could carry a secret: who
can make a browser ask for a page with a text of their own could guess a secret beside it by the length of the answer.
"""

import gzip
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from openslot.doors.http.doors import SAFE, Exchange
from openslot.platform.routing import Response

LONGEST_HEADER = 1000
WEIGHT = re.compile(r"[qQ]=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)")
VARY = "accept-encoding"
# Below this a packet is saved by nothing.
SMALLEST = 1000
# What is kept is compressed once, as small as can be; a page is compressed each time, in a fraction of a millisecond.
SMALL, QUICK = 9, 1


def read_weights(header: str) -> dict[str, float]:
    """Read a header such as `Accept`; a part that can't be read is left out."""
    weights: dict[str, float] = {}
    for part in header[:LONGEST_HEADER].split(","):
        name, *parameters = (each.strip() for each in part.split(";"))
        found = [WEIGHT.fullmatch(each) for each in parameters if each[:1] in {"q", "Q"}]
        if all(found):
            weights[name.lower()] = min((float(each[1]) for each in found if each), default=1.0)
    return weights


def accepts_gzip(headers: Mapping[str, str]) -> bool:
    """Return whether a client takes gzip, and likes it no less than the plain answer."""
    header = headers.get(VARY, "")
    return len(header) <= LONGEST_HEADER and _accepts_gzip(header)


# benchmarks/caches.py: read what a browser unpacks, in every page and file, 20 times
@lru_cache(maxsize=256)
def _accepts_gzip(header: str) -> bool:
    weights = read_weights(header)
    others = weights.get("*", 0.0)
    weight = weights.get("gzip", weights.get("x-gzip", others))
    return weight > 0 and weight >= weights.get("identity", 0.0)


def pack(body: bytes, level: int = SMALL) -> bytes:
    return gzip.compress(body, level, mtime=0)


def compress_public(exchange: Exchange, response: Response) -> Response:
    """Compress the answer of a handler that answers everyone alike, unless somebody is signed in or gets a cookie."""
    body: Any = response.body
    has_secret = exchange.entry.actor.credential_id is not None or response.cookies
    if has_secret or exchange.method not in SAFE or not isinstance(body, bytes) or len(body) < SMALLEST:
        return response
    headers = with_vary(response.headers)
    if not accepts_gzip(exchange.headers):
        return replace(response, headers=headers)
    return replace(response, headers={**headers, "content-encoding": "gzip"}, body=pack(body, QUICK))


def with_vary(headers: Mapping[str, str]) -> dict[str, str]:
    """Tell caches that the answer depends on what the client accepts."""
    others = headers.get("vary")
    return {**headers, "vary": f"{others}, {VARY}" if others else VARY}
