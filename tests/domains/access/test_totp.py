"""Codes of authenticator apps against RFC 6238, and how recovery codes are read."""

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest

from openslot.domains.access.two_factor.operations import (
    HOW_MANY,
    bare_code,
    code_at,
    find_step,
    grouped,
    hash_recovery_code,
    is_recovery_code,
    new_recovery_codes,
    new_secret,
    setup_url,
    step_of,
)

# The RFC's secret, and the last six of its eight digits.
SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
VECTORS = (
    (59, "287082"),
    (1111111109, "081804"),
    (1111111111, "050471"),
    (1234567890, "005924"),
    (2000000000, "279037"),
    (20000000000, "353130"),
)
NOON = datetime(2026, 3, 16, 12, 0, 10, tzinfo=UTC)
ONE, TWO = UUID(int=1), UUID(int=2)


@pytest.mark.parametrize(("seconds", "code"), VECTORS)
def test_codes_are_those_of_the_standard(seconds: int, code: str) -> None:
    assert code_at(SECRET, step_of(datetime.fromtimestamp(seconds, UTC))) == code


@pytest.mark.parametrize(("steps", "fits"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)])
def test_one_step_before_and_after_is_accepted(steps: int, *, fits: bool) -> None:
    then = step_of(NOON + timedelta(seconds=30 * steps))

    assert find_step(SECRET, code_at(SECRET, then), now=NOON) == (then if fits else None)


@pytest.mark.parametrize("code", ["", "0", "28708", "2870820", "abcdef", "２８７０８x", "é" * 6, "\ud800"])
def test_what_is_no_code_fits_no_step(code: str) -> None:
    assert find_step(SECRET, code, now=datetime.fromtimestamp(59, UTC)) is None


def test_secrets_are_random_and_can_be_typed() -> None:
    first, second = new_secret(), new_secret()

    assert first != second
    assert len(first) == 32
    assert grouped(first).replace(" ", "") == first
    assert max(map(len, grouped(first).split())) == 4


def test_the_link_for_apps_names_the_account_and_the_service() -> None:
    url = urlsplit(setup_url(SECRET, "mara+work@lindqvist.example"))
    query = parse_qs(url.query)

    assert (url.scheme, url.netloc) == ("otpauth", "totp")
    assert url.path == "/Openslot:mara%2Bwork%40lindqvist.example"
    assert query == {
        "secret": [SECRET],
        "issuer": ["Openslot"],
        "digits": ["6"],
        "period": ["30"],
        "algorithm": ["SHA1"],
    }


def test_recovery_codes_are_ten_different_ones_of_twenty_digits() -> None:
    codes = new_recovery_codes()

    assert len(set(codes)) == HOW_MANY == 10
    assert all(is_recovery_code(code) and len(bare_code(code)) == 20 and len(code) == 23 for code in codes)


@pytest.mark.parametrize(
    "typed", ["12345-67890-12345-67890", "12345678901234567890", " 12345 67890\t12345-67890 ", "١٢٣٤٥٦٧٨٩٠١٢٣٤٥٦٧٨٩٠"]
)
def test_recovery_codes_are_read_however_they_are_typed(typed: str) -> None:
    assert is_recovery_code(typed)
    assert hash_recovery_code(ONE, typed) == hash_recovery_code(ONE, "12345-67890-12345-67890")


def test_the_hash_of_a_recovery_code_depends_on_its_owner() -> None:
    code = new_recovery_codes()[0]

    assert hash_recovery_code(ONE, code) != hash_recovery_code(TWO, code)
