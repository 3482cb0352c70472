"""Amounts as Stripe counts them, which is not always in the smallest unit of the currency."""

from babel.numbers import get_currency_precision

from openslot.domains.event_types.models import Money

# https://docs.stripe.com/currencies: krónur and Ugandan shillings have no decimals, but are written as if they had two.
WITHOUT_DECIMALS = frozenset(
    ("BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF", "XOF", "XPF")
)
WITH_THREE_DECIMALS = frozenset(("BHD", "JOD", "KWD", "OMR", "TND"))


class AmountNotPossible(ValueError):
    """Stripe can't take this amount: its last digit must be zero in a currency with three decimals."""


def to_stripe(money: Money) -> int:
    up, down = _factors(money.currency)
    amount, rest = divmod(money.amount * up, down)
    if rest or (money.currency in WITH_THREE_DECIMALS and amount % 10):
        raise AmountNotPossible(f"{money.amount} {money.currency}")
    return amount


def from_stripe(amount: int, currency: str) -> Money:
    """Read an amount; what is finer than the currency's smallest unit is cut off, for Stripe never sends it."""
    up, down = _factors(currency.upper())
    return Money(amount * down // up, currency.upper())


def _factors(currency: str) -> tuple[int, int]:
    """Return by what our amount is multiplied and divided to become Stripe's: one of the two is one."""
    theirs = 0 if currency in WITHOUT_DECIMALS else 3 if currency in WITH_THREE_DECIMALS else 2
    ours: int = get_currency_precision(currency)
    return 10 ** max(theirs - ours, 0), 10 ** max(ours - theirs, 0)
