"""Our encoding of parameters is the one of Stripe's own library, and the fake reads it back."""

from random import Random
from typing import Any
from urllib.parse import parse_qsl

import pytest
from stripe._encode import _api_encode

from openslot.domains.event_types.models import Money
from openslot.vendors.stripe.amounts import AmountNotPossible, from_stripe, to_stripe
from openslot.vendors.stripe.forms import encode, list_pairs
from tests.support.fake_stripe.parameters import read_pairs

NAMES = ["a", "metadata", "ключ", "a-b", "a b", "x&y=z", "100%", "+"]
TEXTS = ["", "text", "größer → 漢", "a&b=c", "100% + more", "{CHECKOUT_SESSION_ID}", "[0]", "true", "None", "\n"]


def draw(random: Random, depth: int = 4) -> Any:
    """Draw a value: leaves, lists and mappings of them; None only where a mapping can leave it out."""
    kind = random.randrange(6 if depth else 4)
    if kind == 0:
        return random.choice([True, False])
    if kind == 1:
        return random.choice([0, 1, -7, 10**12, random.randrange(10**9)])
    if kind <= 3:
        return random.choice(TEXTS)
    if kind == 4:
        return [draw(random, depth - 1) for _ in range(random.randrange(4))]
    return draw_mapping(random, depth - 1)


def draw_mapping(random: Random, depth: int = 4) -> dict[str, Any]:
    names = random.sample(NAMES, random.randrange(4))
    return {name: None if random.random() < 0.1 else draw(random, depth) for name in names}


def theirs(parameters: dict[str, Any]) -> list[tuple[str, str]]:
    """Encode as the library does; truth in a list it leaves to `urlencode`, ours is written as elsewhere."""
    return [
        (name, str(value).lower() if isinstance(value, bool) else str(value)) for name, value in _api_encode(parameters)
    ]


def test_drawn_nested_parameters_are_the_same_pairs_and_are_read_back() -> None:
    random = Random(27)
    drawn = [draw_mapping(random) for _ in range(3000)]
    for parameters in drawn:
        assert list(list_pairs(parameters)) == theirs(parameters)
        assert parse_qsl(encode(parameters), keep_blank_values=True) == theirs(parameters)

    assert max(len(theirs(each)) for each in drawn) > 15


def test_brackets_nest() -> None:
    pairs = [("a[b][0][c]", "1"), ("a[b][1][c]", "2"), ("d[]", "3"), ("d[]", "4")]

    assert read_pairs(pairs) == {"a": {"b": {"0": {"c": "1"}, "1": {"c": "2"}}}, "d": {"0": "3", "1": "4"}}


@pytest.mark.parametrize(
    ("money", "counted"),
    [
        (Money(4900, "EUR"), 4900),
        (Money(5000, "JPY"), 5000),
        (Money(5, "ISK"), 500),
        (Money(5, "UGX"), 500),
        (Money(1045, "HUF"), 1045),
        (Money(5120, "KWD"), 5120),
        (Money(700, "MGA"), 700),
        (Money(9, "LBP"), 900),
    ],
)
def test_money_is_counted_as_stripe_counts_it(money: Money, counted: int) -> None:
    assert to_stripe(money) == counted
    assert from_stripe(counted, money.currency.lower()) == money


@pytest.mark.parametrize("money", [Money(5124, "KWD"), Money(1, "TND"), Money(12345, "LYD"), Money(101, "CLF")])
def test_what_stripe_can_not_count_is_refused(money: Money) -> None:
    with pytest.raises(AmountNotPossible):
        to_stripe(money)
