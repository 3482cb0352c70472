"""The countries of phone numbers, and which of them a number sends messages to."""

import re
from collections.abc import Sequence

from openslot.platform.core.errors import Invalid
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import Locale, parse_formats
from openslot.platform.i18n.localization import Localizable

# phonenumbers is loaded with the first number: few processes ever see one, and every start would wait for it.

EVERY = "*"
"""Every country, in place of the codes of countries."""
UNKNOWN = Text("has an unknown country: %(code)s. Write codes of two letters, such as DE, AT, or all")


class CountryNames(Localizable, frozen=True):
    """Some countries, by their names in a reader's language."""

    codes: tuple[str, ...]

    def localize(self, locale: Locale) -> str:
        names = parse_formats(locale.formats).territories
        return ", ".join(str(names.get(code, code)) for code in self.codes)

    def __str__(self) -> str:
        return ", ".join(self.codes)


def find_country(phone: str) -> str | None:
    """Return the code of the country that a number in E.164 belongs to; None if it is that of none."""
    import phonenumbers  # noqa: PLC0415

    code: str | None = phonenumbers.region_code_for_number(phonenumbers.parse(phone))
    return code


def list_allowed(number: str, countries: Sequence[str]) -> tuple[str, ...]:
    """List the countries that a number sends messages to: what was chosen, or else its own."""
    return tuple(countries) or tuple(filter(None, [find_country(number)]))


def is_allowed(phone: str, *, number: str, countries: Sequence[str]) -> bool:
    """Answer whether a number sends messages to a phone, by the countries that were chosen for it."""
    return EVERY in countries or find_country(phone) in list_allowed(number, countries)


def read_countries(text: str) -> tuple[str, ...]:
    """Read countries as people write them, such as `DE, AT`; `all` is every country, and nothing that of the number."""
    import phonenumbers  # noqa: PLC0415

    codes = tuple(dict.fromkeys(each.upper() for each in re.split(r"[\s,;]+", text) if each))
    if codes in {("ALL",), (EVERY,)}:
        return (EVERY,)
    unknown = next((each for each in codes if each not in phonenumbers.SUPPORTED_REGIONS), None)
    if unknown is not None:
        raise Invalid(details={"countries": UNKNOWN.fill(code=unknown)})
    return codes


def write_countries(countries: Sequence[str]) -> str:
    """Write countries as `read_countries` reads them."""
    return "all" if EVERY in countries else ", ".join(countries)
