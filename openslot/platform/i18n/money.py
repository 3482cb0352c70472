"""Amounts of money as a reader sees them."""

from decimal import Decimal

from babel.numbers import format_currency, get_currency_precision

from openslot.platform.i18n.languages import Locale, parse_formats
from openslot.platform.i18n.localization import Localizable


class Amount(Localizable, frozen=True):
    """An amount in the smallest unit of its currency, such as 4900 EUR, which is shown as €49.00."""

    amount: int
    currency: str

    def __str__(self) -> str:
        """Write it for machines and terminals, such as 49.00 EUR."""
        return f"{self._exact} {self.currency}"

    def localize(self, locale: Locale) -> str:
        return str(format_currency(self._exact, self.currency, locale=parse_formats(locale.formats)))

    @property
    def _exact(self) -> Decimal:
        return Decimal(self.amount).scaleb(-get_currency_precision(self.currency))
