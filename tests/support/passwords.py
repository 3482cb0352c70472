"""Passwords that cost next to nothing to hash: one of the product's takes longer than most tests."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from argon2 import PasswordHasher

from openslot.domains.access import passwords

CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
PRODUCTS = passwords._hasher


@contextmanager
def hashing_cheaply() -> Iterator[None]:
    """Let this process hash all passwords cheaply; processes that a test starts hash as the product does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "_hasher", CHEAP)
        yield


PASSWORD = "correct horse battery"
