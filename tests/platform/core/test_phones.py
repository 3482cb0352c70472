"""Phone numbers: normalised to E.164, or refused in words."""

import pytest

from openslot.platform.core.text import parse_phone


@pytest.mark.parametrize(
    ("written", "e164"),
    [
        ("+493012345678", "+493012345678"),
        ("+49 30 12345678", "+493012345678"),
        ("+49 (0)30 / 123-456.78", "+493012345678"),
        ("+1 (202) 555-0123", "+12025550123"),
        ("+39 06 12345678", "+390612345678"),
        ("+800 1234 5678", "+80012345678"),
        (" 12025550123", "+12025550123"),
        (" 1 202 555 0123", "+12025550123"),
    ],
)
def test_a_number_is_normalised_and_a_space_in_the_place_of_the_plus_is_read_as_one(written: str, e164: str) -> None:
    assert parse_phone(written) == e164
    assert parse_phone(e164) == e164


@pytest.mark.parametrize(
    "text", ["", "12025550123", "0049 30 12345678", "030 12345678", "tel:+493012345678", "\uff0b493012345678"]
)
def test_a_number_without_its_country_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"must begin with \+ and the country code"):
        parse_phone(text)


@pytest.mark.parametrize(
    "text",
    [
        "+",
        "+1",
        "+0123456789",
        "+999123456789",
        "+1 2530000",
        "+4915112345678901234",
        "+49 123456789012345",
        "+1-800-FLOWERS",
        "+12025550123;ext=5",
        "+1202555\x000123",
        "+12025550123\n",
        "+١٢٠٢٥٥٥٠١٢٣",
        "+" + "1" * 10_000,
    ],
)
def test_what_no_country_could_have_given_out_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a phone number"):
        parse_phone(text)
