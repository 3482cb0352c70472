"""Caches: how many times as long their work takes without each of them, in processor time of this process.

With --write, the figures also go into docs/performance.md and into the comments above the caches.
"""

import functools
import gc
import re
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple

import uvloop

from benchmarks.cached_work import Run, cost_of, set_up_work
from benchmarks.kept_work import OWN_CACHES, set_up_kept_work
from benchmarks.places import Place, list_places, put
from benchmarks.stage import Stage, stage

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"
TABLE = re.compile(r"(?<=<!-- python -m benchmarks\.caches --write -->\n).*?(?=<!-- end -->)", re.DOTALL)
COMMENT = "# benchmarks/caches.py: "
ROUNDS, SHORTEST = 12, 0.004
# Caches of functions, and the work that each saves. What is done in every request or page says so.
USED_BY = {
    "domains.access.door:_parse_short": "read the address of a caller, in every request",
    "domains.availability.free_hosts:find_worked": "find when a team's host works, once for all with the same hours",
    "domains.availability.grid:lay_steps": "lay the grid of a team's 62 days",
    "domains.availability.schemas:write_day": "write 7 days of slots",
    "domains.calendars.zones:_define": "read an event with a zone of its own",
    "domains.mail.calendar_entry:_write_line": "write 20 calendar entries",
    "domains.mail.rendering:readable_on": "choose a color of a mail, six times in each",
    "domains.schedules.rules:holidays_of": "find 7 days of slots with holidays",
    "doors.agents.protocol:_describe_tools": "agents' tools/list",
    "doors.agents.quoting:list_shapes": "list what a result consists of, in every call of a tool",
    "doors.http.compression:_accepts_gzip": "read what a browser unpacks, in every page and file",
    "doors.http.edge:_series": "find the series of a request, in every request",
    "doors.http.openapi:serve_description.<locals>.written": "description of the API",
    "doors.http.router:_read_mount": "make the app",
    "doors.public_tools.server:_list_tools": "public tools/list",
    "doors.web.api_docs.page:serve_reference.<locals>.written": "reference of the API",
    "doors.web.booking_page.for_assistants:_choose_accepted": "read what a visitor accepts, in every booking page",
    "doors.web.booking_page.forms:_write_empty": "write the empty form, in every booking page",
    "doors.web.shared.booking_calendar:_EndsOfButtons": "write the times of a day",
    "doors.web.shared.booking_calendar:format_month": "write a month, twice in every booking page",
    "doors.web.shared.booking_calendar:write_weekdays": "write the weekdays, in every booking page",
    "doors.web.shared.booking_calendar:write_cell": "lay the grid of a month",
    "doors.web.shared.figures:_format_number": "write a number, up to 200 times in a page",
    "doors.web.shared.figures:_format_short_day": "write a day of a chart, a hundred times in a page",
    "doors.web.shared.marks:find_color": "find the color of an event type, in every row",
    "doors.web.shared.marks:write_icon": "write an icon, dozens of times in a page",
    "doors.web.shared.navigation:group_items": "group the items of the navigation, in every page",
    "doors.web.shared.pages:find_palette": "/help/palette",
    "doors.web.shared.save_bar:find_bar": "bar of a form",
    "doors.web.shared.static_files:_make": "make the style of a color, in every page with one",
    "doors.web.shared.static_files:assets": "host's page",
    "doors.web.shared.templating:_words_of.<locals>.find_plain": "say a text, dozens of times in every page",
    "doors.web.shared.templating:_templates_in": "host's page",
    "doors.web.shared.words:_find_pattern": "say a day",
    "doors.web.shared.words:format_day": "write a day with its weekday, a hundred times in a page",
    "doors.web.shared.zone_picker:find_list": "list of zones",
    "doors.web.shared.zone_search:list_entries": "search a zone",
    "doors.web.shared.zone_search:list_offered": "name 20 zones",
    "doors.web.shared.zones:countries_of_zones": "make what zones are found by",
    "doors.web.shared.zones:former_names": "make the list of zones",
    "doors.web.shared.zones:zones_by_region": "group the zones by region, in a booking page's list of them",
    "doors.web.widget:get_script": "script of the widget",
    "platform.core.build:describe_version": "tell the version, for which git is asked",
    "platform.core.events:_recording": "write the statement that records an event, in every change",
    "platform.core.ids:_prepare": "sign a link",
    "platform.core.markdown:render": "write a description as HTML, in every booking page with one",
    "platform.core.outbound.client:_default_tls": "open a client, for which certificates are read",
    "platform.core.text:parse_email": "check a new address three times, as a booking does",
    "platform.core.times:_known_names": "find a zone",
    "platform.core.times:_load": "zones of a booking page",
    "platform.core.times:_offsets_of_years": "find 7 days of slots",
    "platform.i18n.languages:find_locale": "find a language, several times in every page",
    "platform.i18n.languages:parse_formats": "tell how a place counts hours, in every booking page",
    "platform.i18n.localization:format_minute": "write a time of day, up to 400 times in a page",
    "platform.i18n.localization:get_catalog": "booking page in German",
}


Step = Callable[[], None]


class Figure(NamedTuple):
    """Microseconds of a piece of work with a cache and without it."""

    cache: str
    work: str
    kept: float
    bare: float

    @property
    def times(self) -> str:
        ratio = self.bare / self.kept
        return f"{ratio:.1f}" if ratio < 10 else f"{float(f'{ratio:.2g}'):,.0f}"


def main() -> None:
    """Measure each cache with the work that it saves."""
    with stage() as here:
        figures = uvloop.run(_measure_all(here))
    if "--write" in sys.argv:
        write(figures)


async def _measure_all(here: Stage) -> list[Figure]:
    figures = []
    async with AsyncExitStack() as opened:
        runtime, works = await opened.enter_async_context(set_up_work(here))
        kept_work = await opened.enter_async_context(set_up_kept_work(runtime))
        caches = _list_caches()
        for name, work in USED_BY.items():
            ours = [each for each in caches if f"{each.__module__}:{each.__qualname__}" == f"openslot.{name}"]
            run = works[work]
            await cost_of(run, 1)
            # Of what is made in a function, several may be left: the one in use makes the difference.
            pairs = [await _compare(run, each) for each in ours]
            figures.append(_print(Figure(name, work, *max(pairs, key=lambda pair: pair[1] / pair[0]))))
        for name, work in OWN_CACHES.items():
            figures.append(_print(Figure(name, work, *await _compare_two(*kept_work[name]))))
    return figures


def _print(figure: Figure) -> Figure:
    print(f"{figure.cache:<58}{figure.kept:>10,.1f}{figure.bare:>12,.1f}{figure.times:>9}  {figure.work}", flush=True)
    return figure


async def _compare(run: Run, cached: Any) -> tuple[float, float]:
    """Do work with and without a cache in turns, and return the least that each has taken."""
    places = list_places(cached)
    # Not in a function inside this one, which would be a place of the cache as well.
    forget, keep = functools.partial(_forget, cached, places), functools.partial(put, places, cached)
    return await _compare_two(run, run, before=forget, after=keep)


def _forget(cached: Any, places: list[Place]) -> None:
    """Work without a cache, and without what it has kept alive."""
    cached.cache_clear()
    put(places, cached.__wrapped__)


async def _compare_two(
    kept: Run, bare: Run, *, before: Step = lambda: None, after: Step = lambda: None
) -> tuple[float, float]:
    with_it, without = list[float](), list[float]()
    await cost_of(kept, 2)
    count = max(1, int(SHORTEST / max(await cost_of(kept, 1), 1e-7)))
    for turn in range(ROUNDS):
        await cost_of(kept, 1)
        with_it.append(await cost_of(kept, count))
        before()
        try:
            first = await cost_of(bare, 1)
            more = min(count, int(SHORTEST / max(first, 1e-7)))
            without.append(await cost_of(bare, more) if more else first)
        finally:
            after()
        if turn > 3 and sum(without) > 1:
            break
    return min(with_it) * 1e6, min(without) * 1e6


def _list_caches() -> list[Any]:
    """List the caches of functions of the package that were loaded, those in other functions as well."""
    found = (each for each in gc.get_objects() if isinstance(each, functools._lru_cache_wrapper))  # noqa: SLF001
    return [each for each in found if str(each.__module__).startswith("openslot.")]


def write(figures: list[Figure]) -> None:
    """Write the table of the documentation, and the comment above each cache."""
    rows = ["| Cache | Work | µs with it | without | times |", "|---|---|---:|---:|---:|"]
    for each in sorted(figures):
        path, name = find_source(each.cache)
        rows.append(
            f"| `{path}` `{name}` | {each.work} | {_write_time(each.kept)} | {_write_time(each.bare)} | {each.times} |"
        )
        _write_comment(path, name, f"{COMMENT}{each.work}, {each.times} times")
    text = PAGE.read_text("utf-8")
    PAGE.write_text(TABLE.sub(lambda _: "\n" + "\n".join(rows) + "\n\n", text), "utf-8")


def _write_time(micros: float) -> str:
    return f"{micros:,.2f}" if micros < 10 else f"{micros:,.0f}"


def find_source(cache: str) -> tuple[str, str]:
    """Return the file of a cache, and its name there."""
    module, _, name = cache.partition(":")
    return f"{module.replace('.', '/')}.py", name.rpartition(".")[2]


def _write_comment(path: str, name: str, comment: str) -> None:
    source = ROOT / "openslot" / path
    lines = source.read_text("utf-8").splitlines()
    wanted = re.compile(rf"(async )?def {name}\(|class {name}[(:]|\w+ = lru_cache\(.*\)\({name}\)")
    # A class that is remembered stands above what remembers it.
    at = max(place for place, line in enumerate(lines) if wanted.match(line.lstrip()))
    while lines[at - 1].lstrip().startswith("@"):
        at -= 1
    indent = " " * (len(lines[at]) - len(lines[at].lstrip()))
    known = re.match(r"# ([\d.,]+ times \(|benchmarks/caches\.py: )", lines[at - 1].lstrip())
    lines[at - 1 if known else at : at] = [indent + comment]
    source.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
