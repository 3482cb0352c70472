"""Charts as the server draws them: shapes in per cent of the plot, a round axis, and the words of every value.

`layout/charts.html` writes them. Shapes are SVG attributes because the policy allows no style attributes; words are
HTML, so that they wrap, can be selected and are read out. Lengths are true to the numbers, and what is not zero can be
seen.
"""

from collections.abc import Callable, Sequence
from html import escape
from itertools import pairwise
from math import ceil, floor, log10
from typing import Literal

from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup
from msgspec import Struct

from openslot.doors.web.shared.figures import ShownNumber
from openslot.doors.web.shared.templating import templates
from openslot.platform.i18n import Text
from openslot.platform.i18n.localization import localize

Tone = Literal["one", "two", "bad"]
Written = object
"""A value as a page shows it: text, number, or something that knows the reader's language."""
Write = Callable[[float], Written]

MAX_TICKS, MAX_LABELS, LEVELS = 5, 5, 5
FILLED, LEAST = 0.7, 0.8
"""How much of a column its bar fills, and how high the smallest bar is, in per cent of the plot."""


class Series(Struct, frozen=True, kw_only=True):
    """What is counted, a number for each column; bars of several series stand upon each other."""

    name: Text
    values: Sequence[float]
    tone: Tone = "one"


class ChartColumn(Struct, frozen=True, kw_only=True):
    """A day, week or month: its name, the shorter label on the axis, and its values in the order of the keys."""

    name: Written
    label: Written | None
    values: tuple[Written, ...]
    is_late: bool
    """Whether it is in the second half, where its values are shown before it."""


class Bar(Struct, frozen=True, kw_only=True):
    x: float
    y: float
    width: float
    height: float
    tone: Tone


class ChartKey(Struct, frozen=True, kw_only=True):
    """What a color or a line means, and its sum."""

    name: Text
    mark: Tone | Literal["before"]
    total: Written


class Chart(Struct, frozen=True, kw_only=True):
    id: str
    title: Text
    keys: tuple[ChartKey, ...]
    ticks: tuple[tuple[Written, float], ...]
    """Values of the axis from zero on, each with its height."""
    bars: tuple[Bar, ...]
    before: str
    """The comparison: a path in a box of 1000 by 100; empty if there is none."""
    columns: tuple[ChartColumn, ...]
    sentence: Text
    """The summary of the chart in a sentence."""

    @property
    def is_empty(self) -> bool:
        return not self.bars

    @property
    def rectangles(self) -> Markup:
        """The bars as SVG: a year has hundreds, and a template takes longer to write their numbers one by one."""
        return Markup("".join(map(_write_bar, self.bars)))  # noqa: S704 - numbers and tones


def list_ticks(max_: float, *, least_step: float = 1) -> list[float]:
    """List the values of an axis: from zero to the first one at or above the largest value, at most five, all round."""
    if max_ <= 0:
        return [0, least_step]
    rough = max(max_ / (MAX_TICKS - 1), least_step)
    unit = 10.0 ** floor(log10(rough))
    step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= rough * (1 - 1e-9))
    step = int(step) if step >= 1 else step
    return [step * index for index in range(ceil(max_ / step - 1e-9) + 1)]


def draw_chart(
    chart_id: str,
    title: Text,
    names: Sequence[tuple[Written, Written]],
    series: Sequence[Series],
    *,
    before: Series | None = None,
    write: Write = ShownNumber,
    least_step: float = 1,
) -> Chart:
    """Draw series of one length; `names` has each column's full name and its label. `before` becomes a dashed line."""
    sums = [sum(each) for each in zip(*(one.values for one in series), strict=True)]
    ticks = list_ticks(max([*sums, *(before.values if before else ())], default=0), least_step=least_step)
    shown = [*series, before] if before else list(series)
    keys = [ChartKey(name=one.name, mark=one.tone, total=write(sum(one.values))) for one in series]
    if before:
        keys.append(ChartKey(name=before.name, mark="before", total=write(sum(before.values))))
    return Chart(
        id=chart_id,
        title=title,
        keys=tuple(keys),
        ticks=tuple((write(tick), _share(tick, ticks[-1])) for tick in ticks),
        bars=tuple(_stack(series, ticks[-1])),
        before=draw_line(before.values, ticks[-1]) if before else "",
        columns=tuple(_list_columns(names, shown, write)),
        sentence=_name_peak([name for name, _ in names], sums, write),
    )


def _name_peak(names: Sequence[Written], sums: Sequence[float], write: Write) -> Text:
    """Say what to see: the column with the most, the last one if there are several."""
    most = max(range(len(sums)), key=lambda each: (sums[each], each), default=0)
    if not sums or not sums[most]:
        return Text("Nothing in this period.")
    return Text("Most: %(period)s, %(amount)s.", period=names[most], amount=write(sums[most]))


def _list_columns(
    names: Sequence[tuple[Written, Written]], shown: Sequence[Series], write: Write
) -> Sequence[ChartColumn]:
    count, every = len(names), ceil(len(names) / MAX_LABELS)
    return [
        ChartColumn(
            name=name,
            # A label needs room behind it.
            label=label if index % every == 0 and (count - index) * 2 >= every else None,
            values=tuple(write(one.values[index]) for one in shown),
            is_late=index * 2 >= count,
        )
        for index, (name, label) in enumerate(names)
    ]


def _stack(series: Sequence[Series], top: float) -> Sequence[Bar]:
    count = max((len(one.values) for one in series), default=0)
    bars: list[Bar] = []
    for index in range(count):
        heights = [max(_share(one.values[index], top), LEAST) if one.values[index] else 0 for one in series]
        fits = min(1, 100 / (sum(heights) or 1))
        ground = 100.0
        for one, height in zip(series, heights, strict=True):
            ground -= height * fits
            if height:
                bars.append(
                    Bar(
                        x=_round((index + (1 - FILLED) / 2) * 100 / count),
                        y=_round(max(ground, 0)),
                        width=_round(FILLED * 100 / count),
                        height=_round(height * fits),
                        tone=one.tone,
                    )
                )
    return bars


def draw_line(values: Sequence[float], top: float) -> str:
    """Draw a line through the middle of every column, in a box of 1000 by 100."""
    width = 1000 / max(len(values), 1)
    points = [(width * (index + 0.5), 100 - _share(value, top)) for index, value in enumerate(values)]
    return _path([(0, points[0][1]), *points, (1000, points[0][1])] if len(points) == 1 else points)


def draw_spark(values: Sequence[float]) -> str | None:
    """Draw how a value went, in a box of 100 by 36, and the area under it; None if there are too few values for a line.

    The sides of the area are outside of the box, where nobody sees their lines.
    """
    if len(values) < 2:
        return None
    top, width = max(values) or 1, 100 / (len(values) - 1)
    line = _path([(width * index, 34 - 32 * value / top) for index, value in enumerate(values)], digits=1)
    return f"{line}H109V45H-9V{round(34 - 32 * values[0] / top, 1):g}z"


class FunnelStage(Struct, frozen=True, kw_only=True):
    name: Text
    count: int
    of_hundred: ShownNumber | None
    """The share of the first stage, in per cent; None for the first itself, and if nobody was there."""
    path: str
    """The path of its part of the drawing, in a box of 100 per stage by 100."""


def draw_funnel(stages: Sequence[tuple[Text, int]]) -> tuple[FunnelStage, ...]:
    """Draw each stage as high as its count, the highest first, and lead it over to the next."""
    top, first = max((count for _, count in stages), default=0), stages[0][1] if stages else 0
    heights = [max(_share(count, top), LEAST) if count else 0 for _, count in stages]
    return tuple(
        FunnelStage(
            name=name,
            count=count,
            of_hundred=ShownNumber(round(100 * count / first, 1)) if index and first else None,
            path=_flow(index * 100, height, after),
        )
        for index, ((name, count), (height, after)) in enumerate(
            zip(stages, pairwise([*heights, *heights[-1:]]), strict=True)
        )
    )


def _flow(x: int, height: float, after: float) -> str:
    above, below = _round(50 - height / 2), _round(50 + height / 2)
    above_after, below_after = _round(50 - after / 2), _round(50 + after / 2)
    return (
        f"M{x} {above}C{x + 50} {above} {x + 60} {above_after} {x + 100} {above_after}"
        f"V{below_after}C{x + 60} {below_after} {x + 50} {below} {x} {below}z"
    )


def level_of(value: float, max_: float) -> int:
    """Return how dark a cell of a heat map is: 0 for nothing, 5 for the most."""
    return ceil(LEVELS * value / max_) if max_ else 0


def share_of(value: float, max_: float) -> float:
    """Return the length of a bar in per cent of the longest one."""
    return _round(max(_share(value, max_), LEAST) if value else 0)


def _share(value: float, top: float) -> float:
    return 100 * value / top if top else 0.0


def _write_bar(bar: Bar) -> str:
    return f'<rect class="{bar.tone}" x="{bar.x}%" y="{bar.y}%" width="{bar.width}%" height="{bar.height}%"/>'


class WrittenColumns(Struct, frozen=True, kw_only=True):
    """A chart's columns as HTML in the reader's language: items of the list beneath the plot, and rows of the table."""

    items: Markup
    rows: Markup
    """The newest first."""


# A year has hundreds of values: a template takes several times as long to write them one by one.
@pass_context
def _write_columns(context: Context, drawn: Chart) -> WrittenColumns:
    locale = context["locale"]

    def write(value: Written) -> str:
        return escape(str(localize(value, locale)))

    keys = [write(key.name) for key in drawn.keys]
    items, rows, late = [], [], ' class="late"'
    for column in drawn.columns:
        name, values = write(column.name), [write(value) for value in column.values]
        spans = "".join(f"<span>{key} <b>{value}</b></span>" for key, value in zip(keys, values, strict=True))
        label = f'<span class="label" aria-hidden="true">{write(column.label)}</span>' if column.label else ""
        # The rule for the first late column is that of those after it too.
        is_first_late, late = (late, "") if column.is_late else ("", late)
        items.append(f"<li tabindex=0{is_first_late}><p><b>{name}</b>{spans}</p>{label}</li>")
        rows.append(f'<tr><th scope="row">{name}</th>{"".join(f"<td>{value}</td>" for value in values)}</tr>')
    return WrittenColumns(items=Markup("".join(items)), rows=Markup("".join(reversed(rows))))  # noqa: S704 - escaped


templates.filters["written_columns"] = _write_columns


def _path(points: Sequence[tuple[float, float]], *, digits: int = 2) -> str:
    return "M" + " ".join(f"{round(x, digits):g} {round(y, digits):g}" for x, y in points) if points else ""


def _round(number: float) -> float:
    return round(number, 2)
