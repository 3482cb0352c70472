"""Dollars as an operator writes them, counted in micro-dollars."""

from decimal import ROUND_CEILING, Decimal, InvalidOperation

MICROS = 1_000_000
MOST = Decimal(1_000_000)


class Dollars(int):
    """An amount in micro-dollars, written in dollars: `0.20`."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> "Dollars":
        """Read an amount from 0 to a million, to the micro-dollar."""
        try:
            amount = Decimal(text.strip())
        except InvalidOperation:
            raise ValueError(f"{text.strip()!r} is not an amount in dollars") from None
        if not amount.is_finite() or not 0 <= amount <= MOST:
            raise ValueError(f"{text.strip()} is not between 0 and {MOST:,}")
        if amount * MICROS % 1:
            raise ValueError(f"{text.strip()} has more than six decimal places")
        return cls(amount * MICROS)


class DollarsByName(tuple[tuple[str, Dollars], ...]):
    """Amounts by name: `support=0.20, growth=1.50`."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> "DollarsByName":
        """Read amounts, separated by commas; each name at most once."""
        amounts: dict[str, Dollars] = {}
        for part in filter(str.strip, text.split(",")):
            name, equals, amount = part.partition("=")
            if not equals or name.strip() in amounts:
                raise ValueError(f"{part.strip()!r} must be a name, = and an amount, each name once")
            amounts[name.strip()] = Dollars.parse(amount)
        return cls(amounts.items())


def to_micros(dollars: float) -> int:
    """Turn a number of dollars into micro-dollars; a fraction of one counts as one."""
    # The shortest text that reads back as the same number: 0.1 is a tenth, not the float next to it.
    return int((Decimal(str(dollars)) * MICROS).to_integral_value(ROUND_CEILING))


def to_usd(micros: int) -> float:
    return micros / MICROS
