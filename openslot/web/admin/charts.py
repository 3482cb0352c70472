"""Charts as the server draws them: bars with whole coordinates, and the table that says the same."""

from collections.abc import Sequence
from datetime import date

from msgspec import Struct

from openslot.i18n import Text

WIDTH, HEIGHT, GAP = 600, 120, 2


class Bar(Struct, frozen=True, kw_only=True):
    """One bar, from the ground up or upon another one."""

    x: int
    y: int
    width: int
    height: int
    is_second: bool


class ChartRow(Struct, frozen=True, kw_only=True):
    """One day in the table."""

    on: date
    values: tuple[str, ...]


class Chart(Struct, frozen=True, kw_only=True):
    """One or two figures over some days."""

    id: str
    title: Text
    names: tuple[Text, ...]
    bars: tuple[Bar, ...]
    rows: tuple[ChartRow, ...]
    total: tuple[str, ...]


def draw_chart(
    chart_id: str, title: Text, days: Sequence[date], figures: Sequence[tuple[Text, Sequence[int], Sequence[str]]]
) -> Chart:
    """Draw figures upon each other; each has a name, its numbers, and the numbers as they are written.

    The last text of a figure is the total.
    """
    most = max((sum(values) for values in zip(*(numbers for _, numbers, _ in figures), strict=True)), default=0)
    step = WIDTH // max(len(days), 1)
    bars: list[Bar] = []
    for place in range(len(days)):
        ground = HEIGHT
        for level, (_, numbers, _) in enumerate(figures):
            height = _height(numbers[place], most)
            ground -= height
            if height:
                bars.append(Bar(x=place * step, y=ground, width=step - GAP, height=height, is_second=level > 0))
    rows = [ChartRow(on=on, values=tuple(texts[place] for _, _, texts in figures)) for place, on in enumerate(days)]
    return Chart(
        id=chart_id,
        title=title,
        names=tuple(name for name, _, _ in figures),
        bars=tuple(bars),
        rows=tuple(reversed(rows)),
        total=tuple(texts[-1] for _, _, texts in figures),
    )


def _height(number: int, most: int) -> int:
    """Scale a number; what is not zero can be seen."""
    return max(number * (HEIGHT - 2) // most, 2) if number and most else 0
