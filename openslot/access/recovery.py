"""Recovery codes: ten random codes, each of which can be used once instead of a code of the app."""

import hashlib
import secrets
from uuid import UUID

HOW_MANY = 10
# Digits alone, because the field shows phones a keyboard for digits. 20 of them have 66 bits: a plain hash is enough.
LENGTH, GROUP = 20, 5


def new_recovery_codes() -> tuple[str, ...]:
    """Make a set of codes as they are shown: four groups of five digits."""
    return tuple(_grouped(f"{secrets.randbelow(10**LENGTH):0{LENGTH}}") for _ in range(HOW_MANY))


def is_recovery_code(text: str) -> bool:
    """Return whether this looks like a recovery code, however it was typed."""
    bare = bare_code(text)
    return len(bare) == LENGTH and bare.isascii() and bare.isdigit()


def bare_code(text: str) -> str:
    """Return what was typed without spaces and hyphens; the digits of every script become ASCII."""
    kept = (sign for sign in text if not sign.isspace() and sign != "-")
    return "".join(str(int(sign)) if sign.isdecimal() else sign for sign in kept)


def hash_recovery_code(user_id: UUID, code: str) -> bytes:
    """Hash a code for keeping, together with whose it is."""
    return hashlib.sha256(user_id.bytes + bare_code(code).encode()).digest()


def _grouped(code: str) -> str:
    return "-".join(code[start : start + GROUP] for start in range(0, LENGTH, GROUP))
