"""Passwords: argon2id off the event loop, a few at a time, and never many waiting."""

import asyncio
import base64
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Semaphore
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from openslot.domains.access.errors import WeakPassword
from openslot.platform.core.errors import Unavailable
from openslot.platform.core.text import is_line

T = TypeVar("T")

# Each takes 64 MiB and four threads of its own: two at once need 128 MiB and keep eight cores busy.
AT_ONCE = 2
WAIT_SECONDS = 10.0
BUSY = "Too many passwords are being checked right now"

# There is one queue, but strangers and known devices have separate limits, so that many strangers lock nobody else out.
STRANGERS = Semaphore(AT_ONCE + 16)
KNOWN = Semaphore(AT_ONCE + 32)

_hasher = PasswordHasher()
NOBODYS = [base64.b64encode(secrets.token_bytes(length)).decode().rstrip("=") for length in (16, 32)]
"""The salt and the digest of a password that nobody has."""
_threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="password")


def check_password(password: str) -> None:
    """Refuse a password that is too short to be safe, too long, or impossible to enter in a form."""
    if not 10 <= len(password) <= 200 or not is_line(password):
        raise WeakPassword


async def hash_password(password: str, limit: Semaphore = KNOWN) -> str:
    return await _run(lambda: _hasher.hash(password), limit)


async def is_password(password: str, password_hash: str | None, limit: Semaphore = KNOWN) -> bool:
    """Return whether this is the password; without a hash the answer is no and takes the same time."""
    matches = await _run(lambda: _verify(password, password_hash or _nobodys()), limit)
    return matches and password_hash is not None


async def _run(do: Callable[[], T], limit: Semaphore) -> T:
    """Run a function in one of the threads; refuse if too many run or the wait for a thread is too long."""
    if not limit.acquire(blocking=False):
        raise Unavailable(BUSY)
    running = _threads.submit(do)
    running.add_done_callback(lambda _: limit.release())
    result = asyncio.wrap_future(running)
    try:
        await asyncio.wait([result], timeout=WAIT_SECONDS)
    finally:
        # A running call can't be stopped and ends soon.
        has_not_begun = running.cancel()
    if has_not_begun:
        raise Unavailable(BUSY)
    return await result


def _verify(password: str, password_hash: str) -> bool:
    try:
        return _hasher.verify(password_hash, password)
    except (VerificationError, InvalidHashError):
        return False


def _nobodys() -> str:
    """Write a hash that matches no password and takes as long to verify as any other."""
    salt, digest = NOBODYS
    cost = f"m={_hasher.memory_cost},t={_hasher.time_cost},p={_hasher.parallelism}"
    return f"$argon2id$v=19${cost}${salt}${digest}"
