"""The cipher: what it seals is found by nobody, and opens for its purpose and owner alone."""

from collections.abc import Callable

import pytest

from openslot.platform.core.secrets import Cipher, SealBroken

OLD, NEW = "o" * 40, "n" * 40
WORDS = b"https://book.example/manage/secret"


def test_what_is_sealed_says_nothing_and_opens_again() -> None:
    cipher = Cipher((OLD,))
    once, twice = (cipher.seal("answers", WORDS, owner=b"1") for _ in range(2))

    assert once != twice
    assert b"manage" not in once
    assert {cipher.open("answers", each, owner=b"1") for each in (once, twice)} == {WORDS}


def test_every_key_opens_and_the_first_one_seals() -> None:
    sealed = Cipher((OLD,)).seal("answers", WORDS, owner=b"1")
    newer = Cipher((NEW, OLD))

    assert newer.open("answers", sealed, owner=b"1") == WORDS
    assert Cipher((NEW,)).open("answers", newer.seal("answers", WORDS, owner=b"1"), owner=b"1") == WORDS


@pytest.mark.parametrize(
    ("keys", "purpose", "owner"),
    [((NEW,), "answers", b"1"), ((OLD,), "bodies", b"1"), ((OLD,), "answers", b"2"), ((OLD,), "answers", b"")],
)
def test_it_opens_for_nothing_else(keys: tuple[str, ...], purpose: str, owner: bytes) -> None:
    sealed = Cipher((OLD,)).seal("answers", WORDS, owner=b"1")

    with pytest.raises(SealBroken):
        Cipher(keys).open(purpose, sealed, owner=owner)


@pytest.mark.parametrize(
    "damage", [lambda it: it[:-1], lambda it: bytes([it[0] ^ 1]) + it[1:], lambda it: it[:5], lambda _: b""]
)
def test_what_was_changed_does_not_open(damage: Callable[[bytes], bytes]) -> None:
    sealed = Cipher((OLD,)).seal("answers", WORDS, owner=b"1")

    with pytest.raises(SealBroken):
        Cipher((OLD,)).open("answers", damage(sealed), owner=b"1")
