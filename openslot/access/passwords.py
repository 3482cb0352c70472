"""Passwords: argon2id, off the event loop."""

import asyncio
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from openslot.access.errors import WeakPassword

_hasher = PasswordHasher()


@cache
def _nobody() -> str:
    """Make the hash that is verified against when there is no such user, so that the answer takes the same time."""
    return _hasher.hash("nobody has this password")


def check_password(password: str) -> None:
    """Refuse a password that is too short to be safe or too long to be one."""
    if not 10 <= len(password) <= 200:
        raise WeakPassword


async def hash_password(password: str) -> str:
    """Hash a password for keeping."""
    return await asyncio.to_thread(_hasher.hash, password)


async def is_password(password: str, password_hash: str | None) -> bool:
    """Tell whether this is the password; without a hash it is not, and takes as long to say so."""
    matches = await asyncio.to_thread(_verify, password, password_hash)
    return matches and password_hash is not None


def _verify(password: str, password_hash: str | None) -> bool:
    try:
        return _hasher.verify(password_hash or _nobody(), password)
    except (VerificationError, InvalidHashError):
        return False
