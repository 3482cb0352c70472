"""Which prices can be paid: the currencies and the smallest amounts that a payment provider takes."""

import re
from collections.abc import Iterator

from babel.numbers import get_currency_precision

from openslot.domains.event_types.models import Money
from openslot.platform.i18n import Text
from openslot.platform.i18n.money import Amount

CODE = re.compile(r"[A-Z]{3}", re.ASCII)
# https://docs.stripe.com/currencies: what customers can be charged in.
CODES = """
    AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BWP BYN BZD CAD CDF CHF CLP
    CNY COP CRC CVE CZK DJF DKK DOP DZD EGP ETB EUR FJD FKP GBP GEL GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR
    ISK JMD JOD JPY KES KGS KHR KMF KRW KWD KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MUR MVR MWK MXN
    MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SEK SGD SHP SLE
    SOS SRD STD SZL THB TJS TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW"""
CURRENCIES = frozenset(CODES.split())
# The same page: the smallest charge in those currencies that it names; others are compared after an exchange.
SMALLEST = {
    **dict.fromkeys(("AUD", "BRL", "CAD", "CHF", "EUR", "INR", "NZD", "SGD", "USD"), 50),
    **dict.fromkeys(("AED", "MYR", "PLN", "RON"), 200),
    **dict.fromkeys(("NOK", "SEK"), 300),
    "BGN": 100,
    "CZK": 1500,
    "DKK": 250,
    "GBP": 30,
    "HKD": 400,
    "HUF": 17500,
    "JPY": 50,
    "MXN": 1000,
    "THB": 1000,
}
TOO_FINE = Text("must end in 0: payment providers take no smaller amounts of this currency")
TOO_SMALL = Text("must be at least %(amount)s: payment providers take no smaller payments")
NOT_TAKEN = Text("must be a currency that payment providers take, such as EUR")

SAID = frozenset({TOO_FINE.msgid, TOO_SMALL.msgid})
"""Faults that a form shows in their own words."""


def is_too_fine(price: Money) -> bool:
    """Return whether an amount has a last digit that nobody can pay: currencies with three decimals end in 0."""
    return bool(price.amount % 10) and get_currency_precision(price.currency) == 3


def find_price_faults(price: Money) -> Iterator[tuple[str, str]]:
    """Name what is wrong with a price, as far as it is known before somebody pays."""
    smallest = SMALLEST.get(price.currency, 0)
    if not CODE.fullmatch(price.currency):
        yield "price.currency", Text("must be three capital letters, such as EUR")
    elif price.currency not in CURRENCIES:
        yield "price.currency", NOT_TAKEN
    if 0 < price.amount < smallest:
        yield "price.amount", TOO_SMALL.fill(amount=Amount(smallest, price.currency))
    elif is_too_fine(price):
        yield "price.amount", TOO_FINE
