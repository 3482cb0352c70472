"""What a hash of a password costs an attacker."""

from argon2 import PasswordHasher, Type
from argon2.profiles import RFC_9106_LOW_MEMORY

from tests.support.passwords import PRODUCTS


def test_passwords_are_hashed_as_the_standard_advises() -> None:
    advised = PasswordHasher.from_parameters(RFC_9106_LOW_MEMORY)

    assert PRODUCTS.type is Type.ID
    assert (PRODUCTS.time_cost, PRODUCTS.memory_cost, PRODUCTS.parallelism, PRODUCTS.hash_len, PRODUCTS.salt_len) == (
        advised.time_cost,
        advised.memory_cost,
        advised.parallelism,
        advised.hash_len,
        advised.salt_len,
    )
