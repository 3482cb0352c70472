"""Prices as people type them: an amount with or without decimals, and a currency."""

import re
from decimal import Decimal

from babel.numbers import get_currency_name, get_currency_precision

from openslot.event_types.models import Money
from openslot.i18n import PluralText, Text
from openslot.i18n.languages import Locale
from openslot.i18n.localization import Localizable

_CODES = """
AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KES KRW MAD MXN MYR NGN NOK NZD
PEN PHP PLN QAR RON RSD SAR SEK SGD THB TRY TWD UAH USD VND ZAR
"""
CURRENCIES = tuple(_CODES.split())
AMOUNT = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?", re.ASCII)
NOT_AN_AMOUNT = Text("must be an amount, such as 80 or 80.50")


class BadAmount(Exception):
    """What was typed is not an amount of the currency."""

    def __init__(self, fault: Text) -> None:
        super().__init__(str(fault))
        self.fault = fault


class CurrencyName(Localizable, frozen=True):
    """A currency as people call it, such as `EUR, euro`."""

    code: str

    def localize(self, locale: Locale) -> str:
        """Write the code and the name."""
        return f"{self.code}, {get_currency_name(self.code, locale=locale.formats)}"


def read_price(text: str, currency: str) -> Money | None:
    """Read an amount, with a point or a comma before the decimals; None if there is none."""
    typed = text.strip().replace(",", ".")
    if not typed:
        return None
    if not AMOUNT.fullmatch(typed):
        raise BadAmount(NOT_AN_AMOUNT)
    places = get_currency_precision(currency)
    smallest = Decimal(typed).scaleb(places)
    if smallest != smallest.to_integral_value():
        raise BadAmount(
            PluralText("must have at most %(count)s decimal", "must have at most %(count)s decimals", count=places)
        )
    return Money(int(smallest), currency)


def write_amount(price: Money) -> str:
    """Write an amount as it is typed."""
    places = get_currency_precision(price.currency)
    return f"{Decimal(price.amount).scaleb(-places):.{places}f}"
