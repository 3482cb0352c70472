"""Pictures from outside: written anew off the event loop, one at a time, and never many waiting."""

import asyncio
import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Semaphore
from typing import NamedTuple, TypeVar

from openslot.domains.accounts.models import ImageKind
from openslot.platform.core.errors import Invalid, Unavailable
from openslot.platform.i18n import Text

MAX_BYTES = 5 * 1024 * 1024
# A large picture takes up to 250 MB while it is decoded, so there is one at a time.
AT_ONCE = 1
WAITING = 8

BUSY = Text("Too many pictures are being prepared right now. Try again in a minute")
EMPTY = Text("Choose a picture")
TOO_LARGE = Text("must be at most 5 MB")

T = TypeVar("T")

_places = Semaphore(AT_ONCE + WAITING)
_threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="picture")


class Picture(bytes):
    """A square JPEG that this service has written itself."""

    @property
    def hash(self) -> str:
        return name_picture(self)


class RewrittenPicture(NamedTuple):
    """A picture that this service has written itself, with its size."""

    body: bytes
    width: int
    height: int


def name_picture(body: bytes) -> str:
    """Return the name under which a picture is served."""
    return hashlib.sha256(body).hexdigest()[:32]


async def prepare_picture(body: bytes) -> Picture:
    _check_size(body)
    return await _run(_make_square, body)


async def prepare_brand_image(body: bytes, kind: ImageKind) -> RewrittenPicture:
    _check_size(body)
    return await _run(_make_logo if kind is ImageKind.LOGO else _make_cover, body)


def _check_size(body: bytes) -> None:
    if not body:
        raise Invalid(details={"photo": EMPTY})
    if len(body) > MAX_BYTES:
        raise Invalid(details={"photo": TOO_LARGE})


async def rewrite_picture(body: bytes) -> RewrittenPicture:
    """Write a picture anew in its own size; who calls this has limited how many bytes it has."""
    return await _run(_rewrite, body)


async def _run(make: Callable[[bytes], T], body: bytes) -> T:
    if not _places.acquire(blocking=False):
        raise Unavailable(BUSY)
    running = _threads.submit(make, body)
    running.add_done_callback(lambda _: _places.release())
    return await asyncio.wrap_future(running)


# The library is loaded with the first picture: every start of a process would wait for it.
def _make_square(body: bytes) -> Picture:
    from openslot.domains.accounts.pictures.decoding import make_square  # noqa: PLC0415

    return Picture(make_square(body))


def _make_logo(body: bytes) -> RewrittenPicture:
    from openslot.domains.accounts.pictures.decoding import make_logo  # noqa: PLC0415

    return RewrittenPicture(*make_logo(body))


def _make_cover(body: bytes) -> RewrittenPicture:
    from openslot.domains.accounts.pictures.decoding import make_cover  # noqa: PLC0415

    return RewrittenPicture(*make_cover(body))


def _rewrite(body: bytes) -> RewrittenPicture:
    from openslot.domains.accounts.pictures.decoding import rewrite  # noqa: PLC0415

    return RewrittenPicture(*rewrite(body))
