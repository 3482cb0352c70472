"""The documentation tells of everything that is there, and of nothing that is not."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest
from packaging.version import Version
from typer.core import TyperGroup
from typer.main import get_command

import openslot
from openslot.cli.commands import app
from openslot.platform.core.config import Settings, environment_name
from openslot.platform.core.errors import all_refusals
from openslot.platform.core.migrate import BASELINE, former_migrations, known_migrations
from openslot.wiring import WIRING
from scripts.tables import CHART_NAMES, GROUPS_IN_DETAIL, SETTINGS_IN_DETAIL, TABLES, renew, write_chart_names
from tests.upgrades.statements import load_release

ROOT = Path(__file__).parents[1]
MODULES = [
    module.name for module in pkgutil.walk_packages(openslot.__path__, "openslot.") if "__main__" not in module.name
]


def read(path: str) -> str:
    return (ROOT / path).read_text("utf-8")


def codes() -> set[str]:
    for module in MODULES:
        importlib.import_module(module)
    ours = (refusal for refusal in all_refusals() if refusal.__module__.startswith("openslot."))
    # A class without a code is only the base of others.
    return {refusal.code for refusal in ours if hasattr(refusal, "code")}


def commands() -> list[str]:
    def walk(command: object, path: str) -> list[str]:
        if not isinstance(command, TyperGroup):
            return [path]
        with command.make_context("openslot", [], resilient_parsing=True) as context:
            names = command.list_commands(context)
            return [found for name in names for found in walk(command.get_command(context, name), f"{path} {name}")]

    return walk(get_command(app), "openslot")


@pytest.mark.parametrize("table", TABLES)
def test_tables_are_written_from_the_code(table: str) -> None:
    name, write = TABLES[table]
    page = read(f"docs/{name}")

    assert renew(page, table, write()) == page, "run `make docs`"


def test_the_chart_knows_the_settings_of_the_code() -> None:
    assert CHART_NAMES.read_text("utf-8") == write_chart_names(), "run `make docs`"


@pytest.mark.parametrize("field", Settings.__struct_fields__)
def test_every_setting_is_documented(field: str) -> None:
    assert re.search(rf"^\| `{environment_name(field)}` \| [^|]+ \| [\w`]", read("docs/settings.md"), re.MULTILINE)


@pytest.mark.parametrize("command", commands())
def test_every_command_is_documented(command: str) -> None:
    assert re.search(rf"^\| `{command}[` ][^|]*\| \w", read("docs/commands.md"), re.MULTILINE)


@pytest.mark.parametrize("page", ["", "begin only <!-- x: begin -->", "<!-- x: begin --><!-- x: end -->" * 2])
def test_a_page_without_the_place_of_its_table_is_refused(page: str) -> None:
    with pytest.raises(ValueError, match="once each"):
        renew(page, "x", "text")


def test_details_are_about_what_exists() -> None:
    assert set(SETTINGS_IN_DETAIL) <= set(Settings.__struct_fields__)
    assert all(any(command.startswith(f"{group} ") for command in commands()) for group in GROUPS_IN_DETAIL)


def test_every_page_is_in_the_index() -> None:
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}

    assert pages - set(re.findall(r"\]\(([^)#]+\.md)\)", read("docs/README.md"))) == set()


def test_every_test_that_a_page_names_exists() -> None:
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    named = {found for page in pages for found in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page.read_text("utf-8"))}

    assert len(named) > 100
    assert {(path, name) for path, name in named if f"def {name}(" not in read(path)} == set()


def test_every_row_of_the_security_page_names_a_test() -> None:
    rows = re.findall(r"^\| (?:API|\d)[^\n]*$", read("docs/security.md").partition("## Not met")[0], re.MULTILINE)

    assert len(rows) > 80
    assert all("::test_" in row for row in rows)


def test_no_proxy_is_told_to_publish_the_metrics() -> None:
    blocks = re.findall(r"^```\n(.*?)^```", read("docs/proxy.md"), re.MULTILINE | re.DOTALL)
    proxies = [block for block in blocks if re.search(r"\b(proxy_pass|reverse_proxy)\b", block)]

    assert len(proxies) == 2
    assert all(re.search(r"/metrics\b[^\n]*\s+(return|respond @metrics) 404", block) for block in proxies)


def test_every_error_code_is_documented_and_no_other() -> None:
    told = set(re.findall(r"^\| `([a-z_]+)` \|", read("docs/errors.md"), re.MULTILINE))

    assert told == codes()


def test_every_event_is_documented_and_no_other() -> None:
    told = set(re.findall(r"^\| `([a-z_]+\.[a-z_]+)` \|", read("docs/events.md"), re.MULTILINE))

    assert told == {event.type for event in WIRING.events} | {job.name for job in WIRING.periodic}


def test_events_and_jobs_are_described_in_the_words_of_the_code() -> None:
    told = dict(
        re.findall(r"^\| `([a-z_]+\.[a-z_]+)` \| (?:`[^`]+` \| )?([^|]+?) \|", read("docs/events.md"), re.MULTILINE)
    )
    docs = {event.type: event.__doc__ for event in WIRING.events} | {
        job.name: job.run.__doc__ for job in WIRING.periodic
    }

    assert told == {name: " ".join((doc or "").partition("\n\n")[0].split()) for name, doc in docs.items()}


def test_every_module_says_what_lives_in_it() -> None:
    silent = [name for name in MODULES if not (importlib.import_module(name).__doc__ or "").strip()]

    assert silent == []


def test_every_decision_has_a_number_of_its_own() -> None:
    numbers = [path.name[:4] for path in sorted((ROOT / "docs/decisions").glob("*.md"))]

    assert numbers == [f"{n:04}" for n in range(1, len(numbers) + 1)]


DECISION = r"\[decision \d+\]\(\d{4}-[a-z0-9-]+\.md\)"
STATUS = re.compile(rf"# \d+\. .+\n\nStatus: (accepted|(replaced|changed) by {DECISION}(, {DECISION})*)\n\n")


def test_every_decision_says_whether_it_still_holds() -> None:
    pages = sorted((ROOT / "docs/decisions").glob("*.md"))

    assert [page.name for page in pages if not STATUS.match(page.read_text("utf-8"))] == []


def test_the_changelog_tells_of_this_version_and_of_the_last_release() -> None:
    version = Version(openslot.__version__)
    told = {load_release().version, *([] if version.is_devrelease else [str(version)])}

    for one in map(re.escape, told):
        assert re.search(rf"^## {one} - \d{{4}}-\d\d-\d\d\n\n\w", read("CHANGELOG.md"), re.MULTILINE)
    assert not version.is_devrelease or "\n## Unreleased\n" in read("CHANGELOG.md")


def test_the_changelog_is_no_diary() -> None:
    """What a release brings fits on some screens; its notes are written before there is too much to choose from."""
    _, unreleased, *_ = re.split(r"^## ", read("CHANGELOG.md"), flags=re.MULTILINE)

    assert unreleased.startswith("Unreleased\n")
    assert len(unreleased.splitlines()) <= 60


def test_links_between_documents_lead_somewhere() -> None:
    broken = []
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", document.read_text("utf-8")):
            if not (document.parent / target).exists():
                broken.append(f"{document.name}: {target}")

    assert broken == []


def test_the_architecture_page_names_every_layer() -> None:
    drawers = [ROOT / "openslot", *(ROOT / "openslot" / each for each in ("doors", "domains", "platform"))]
    folders = (path for drawer in drawers for path in drawer.iterdir() if path.is_dir())
    layers = {path.name for path in folders if not path.name.startswith("_")}
    picture = read("docs/architecture.md")

    assert [
        layer for layer in layers - {"migrations"} if not re.search(rf"^ .*\b{layer}\b", picture, re.MULTILINE)
    ] == []


def test_migrations_are_named_by_number_and_purpose() -> None:
    baseline = [name for name in known_migrations() if name.startswith(BASELINE)]
    later = (known_migrations() | former_migrations()).keys() - set(baseline)

    assert [name[len(BASELINE) :][:2] for name in baseline] == [f"{no:02}" for no in range(1, len(baseline) + 1)]
    assert all(re.fullmatch(r"\d\d_[a-z_]+\.sql", name[len(BASELINE) :]) for name in baseline)
    assert all(re.fullmatch(r"\d{4}_[a-z_]+\.sql", name) for name in later)
