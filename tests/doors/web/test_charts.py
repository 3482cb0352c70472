"""Charts: round axes, shapes that stay inside and are true to their numbers, and changes in words."""

from collections.abc import Sequence
from typing import Literal

import pytest

from openslot.doors.web.shared.charts import (
    Series,
    draw_chart,
    draw_funnel,
    draw_line,
    draw_spark,
    level_of,
    list_ticks,
    share_of,
)
from openslot.doors.web.shared.figures import compare
from openslot.doors.web.shared.templating import templates
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import find_locale
from openslot.platform.i18n.localization import localize

ONE, TWO, BEFORE = Text("One"), Text("Two"), Text("Before")


@pytest.mark.parametrize(
    ("max_", "ticks"),
    [
        (0, [0, 1]),
        (1, [0, 1]),
        (3, [0, 1, 2, 3]),
        (4, [0, 1, 2, 3, 4]),
        (5, [0, 2, 4, 6]),
        (9, [0, 5, 10]),
        (11, [0, 5, 10, 15]),
        (100, [0, 50, 100]),
        (101, [0, 50, 100, 150]),
        (1206, [0, 500, 1000, 1500]),
        (10**12, [0, 500_000_000_000, 10**12]),
    ],
)
def test_an_axis_has_few_round_values(max_: float, ticks: list[float]) -> None:
    assert list_ticks(max_) == ticks


def test_an_axis_never_ends_below_its_largest_value_and_has_at_most_five() -> None:
    for max_ in range(1, 5000):
        ticks = list_ticks(max_)
        assert ticks[0] == 0
        assert ticks[-2] < max_ <= ticks[-1]
        assert 2 <= len(ticks) <= 5


@pytest.mark.parametrize("values", [[0], [1], [0, 5, 10], [3] * 90, [10**12, 1, 0], []])
def test_bars_stay_inside_and_what_is_not_zero_can_be_seen(values: list[int]) -> None:
    names = [(f"day {place}", place) for place in range(len(values))]
    chart = draw_chart("c", Text("Title"), names, [Series(name=ONE, values=values), Series(name=TWO, values=values)])

    assert len(chart.bars) == 2 * sum(value > 0 for value in values)
    assert chart.is_empty == (not any(values))
    for bar in chart.bars:
        assert 0 <= bar.x < bar.x + bar.width <= 100
        assert 0 <= bar.y < bar.y + bar.height <= 100.01
    assert [column.values for column in chart.columns] == [(number(value),) * 2 for value in values]
    assert [str(key.total) for key in chart.keys] == [str(sum(values))] * 2


def number(value: int) -> object:
    (column,) = draw_chart("c", ONE, [("", "")], [Series(name=ONE, values=[value])]).columns
    return column.values[0]


def test_heights_are_true_to_the_numbers_and_the_comparison_has_the_same_axis() -> None:
    before = Series(name=BEFORE, values=[8, 0])
    chart = draw_chart("c", ONE, [("a", "a"), ("b", "b")], [Series(name=ONE, values=[2, 4])], before=before)

    assert [height for _, height in chart.ticks] == [0, 25, 50, 75, 100]
    assert [bar.height for bar in chart.bars] == [25, 50]
    assert chart.before == "M250 0 750 100"
    assert [key.mark for key in chart.keys] == ["one", "before"]
    assert str(chart.sentence) == "Most: b, 4."


@pytest.mark.parametrize(("count", "labels"), [(1, 1), (2, 2), (7, 4), (13, 4), (30, 5), (31, 4), (90, 5)])
def test_an_axis_has_few_labels_and_none_without_room_behind_it(count: int, labels: int) -> None:
    names = [(place, place + 1) for place in range(count)]
    columns = draw_chart("c", ONE, names, [Series(name=ONE, values=[1] * count)]).columns

    assert sum(column.label is not None for column in columns) == labels
    assert [column.is_late for column in columns] == [place * 2 >= count for place in range(count)]


def test_columns_are_written_once_for_the_plot_and_newest_first_for_the_table_and_escaped() -> None:
    names = [("Mon", "M"), ("<b>Tue</b>", "T&")]
    chart = draw_chart("c", ONE, names, [Series(name=Text("O<e"), values=[1206, 2])])
    template = templates.from_string("{% set it = drawn | written_columns %}{{ it.items }}|{{ it.rows }}")

    items, rows = template.render(drawn=chart, locale=find_locale("de")).split("|")

    assert items == (
        "<li tabindex=0><p><b>Mon</b><span>O&lt;e <b>1.206</b></span></p>"
        '<span class="label" aria-hidden="true">M</span></li>'
        '<li tabindex=0 class="late"><p><b>&lt;b&gt;Tue&lt;/b&gt;</b><span>O&lt;e <b>2</b></span></p>'
        '<span class="label" aria-hidden="true">T&amp;</span></li>'
    )
    assert rows == (
        '<tr><th scope="row">&lt;b&gt;Tue&lt;/b&gt;</th><td>2</td></tr><tr><th scope="row">Mon</th><td>1.206</td></tr>'
    )


@pytest.mark.parametrize(("values", "line"), [([], ""), ([1], "M0 0 500 0 1000 0"), ([0, 2], "M250 100 750 0")])
def test_a_line_goes_through_the_middle_of_its_columns(values: Sequence[int], line: str) -> None:
    assert draw_line(values, max(values, default=0)) == line


def test_a_small_line_needs_two_values() -> None:
    assert draw_spark([]) is None
    assert draw_spark([3]) is None
    assert draw_spark([0, 0]) == "M0 34 100 34H109V45H-9V34z"
    assert draw_spark([0, 10**9]) == "M0 34 100 2H109V45H-9V34z"


def test_a_funnel_is_as_high_as_its_numbers() -> None:
    stages = draw_funnel([(ONE, 200), (TWO, 50), (BEFORE, 0)])

    assert [stage.path.split("C")[0] for stage in stages] == ["M0 0.0", "M100 37.5", "M200 50.0"]
    assert [str(stage.of_hundred) for stage in stages] == ["None", "25", "0"]
    assert [str(stage.of_hundred) for stage in draw_funnel([(ONE, 0), (TWO, 3)])] == ["None", "None"]
    assert draw_funnel([]) == ()


@pytest.mark.parametrize(
    ("value", "max_", "level"), [(0, 0, 0), (0, 9, 0), (1, 1000, 1), (2, 10, 1), (3, 10, 2), (9, 9, 5)]
)
def test_a_cell_of_a_heat_map_has_one_of_five_levels(value: int, max_: int, level: int) -> None:
    assert level_of(value, max_) == level


@pytest.mark.parametrize(("value", "max_", "share"), [(0, 0, 0), (0, 5, 0), (1, 10**9, 0.8), (1, 4, 25), (4, 4, 100)])
def test_a_length_is_a_share_of_the_longest(value: int, max_: int, share: float) -> None:
    assert share_of(value, max_) == share


@pytest.mark.parametrize(
    ("value", "before", "better", "words", "tone"),
    [
        (61, 52, "more", "17% more", "good"),
        (40, 50, "more", "20% fewer", ""),
        (4, 6, "fewer", "2 fewer", "good"),
        (3, 2, "fewer", "1 more", "warn"),
        (5, 5, "more", "as before", ""),
        (3, 0, "neither", "none before", ""),
        (8.2, 7.6, "more", "0.6 more", "good"),
        (10_001, 10_000, "more", "1 more", "good"),
        (5200, 20, "neither", "25,900% more", ""),
    ],
)
def test_a_change_is_told_in_words(
    value: float, before: float, better: Literal["more", "fewer", "neither"], words: str, tone: str
) -> None:
    delta = compare(value, before, better=better)
    locale = find_locale("en")
    assert locale is not None

    assert (localize(delta.words, locale), delta.tone) == (words, tone)
