"""Compiled templates are kept for other processes, and count only for what they were made from."""

import sys
from pathlib import Path
from typing import Any

import pytest
from jinja2 import DictLoader, nodes
from msgspec.structs import replace

from openslot.i18n.languages import ENGLISH, LANGUAGES
from openslot.web import templating
from openslot.web.static_files import assets
from openslot.web.templating import LanguageTemplates, TemplateCache, templates
from tests.web.support import SOURCES


class Compiling(LanguageTemplates):
    """Templates that tell which of them had to be compiled."""

    compiled: list[str | None]

    def _generate(self, source: nodes.Template, name: str | None, *rest: Any, **options: Any) -> str:
        self.compiled.append(name)
        return super()._generate(source, name, *rest, **options)


def show(source: str = "Hello {{ name }}", *, version: str = "1", language: str = "en") -> tuple[str, int]:
    """Show a template as a process that has just started, and tell how many it has compiled."""
    opened = Compiling(loader=DictLoader({"a.html": source}), bytecode_cache=TemplateCache(language, version=version))
    opened.compiled = []
    return opened.get_template("a.html").render(name="Mara"), len(opened.compiled)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep bytecode in a folder of the test's own."""
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    kept = Path(TemplateCache("en", version="1").directory)
    kept.mkdir(parents=True)
    return kept


def test_the_next_process_compiles_nothing_again(folder: Path) -> None:
    assert show() == ("Hello Mara", 1)
    assert show() == ("Hello Mara", 0)
    assert len(list(folder.iterdir())) == 1


def test_another_source_version_or_language_is_compiled_anew() -> None:
    show()

    assert show(language="de") == ("Hello Mara", 1)
    assert show(version="2") == ("Hello Mara", 1)
    assert show("Bye {{ name }}", version="2") == ("Bye Mara", 1)


@pytest.mark.parametrize("length", [0, 10, 50, 150])
def test_a_damaged_file_is_made_again(folder: Path, length: int) -> None:
    show()
    (kept,) = folder.iterdir()
    kept.write_bytes(kept.read_bytes()[:length])

    assert show() == ("Hello Mara", 1)
    assert show() == ("Hello Mara", 0)


def test_where_nothing_can_be_written_templates_are_compiled_in_memory(folder: Path) -> None:
    folder.rmdir()
    folder.write_text("not a folder")

    assert show() == ("Hello Mara", 1)
    assert show() == ("Hello Mara", 1)


def test_nothing_is_written_where_python_writes_no_bytecode(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    assert show() == ("Hello Mara", 1)
    assert list(folder.iterdir()) == []


def test_the_version_follows_the_words_the_static_files_the_rules_and_jinja(monkeypatch: pytest.MonkeyPatch) -> None:
    asset = assets()["openslot.css"]
    versions = {templating._version_in(language) for language in (ENGLISH, LANGUAGES["de"])}
    changes: list[tuple[str, Any]] = [
        ("read_source", lambda _: b"other words"),
        ("assets", lambda: {"openslot.css": replace(asset, version="another")}),
        ("version", lambda _: "99.0"),
        ("__file__", __file__),
        ("templates", templates.overlay()),
    ]
    changes[-1][1].filters = {}
    for name, value in changes:
        with monkeypatch.context() as patch:
            patch.setattr(templating, name, value)
            versions.add(templating._version_in(ENGLISH))

    assert len(versions) == 7


def test_no_result_of_our_own_code_is_compiled_into_a_template() -> None:
    """Jinja applies a filter to a constant when it compiles, and the version does not follow our filters."""
    for path in SOURCES:
        for found in templates.parse(path.read_text("utf-8")).find_all(nodes.Filter):
            varies = {name.name for name in found.find_all(nodes.Name)} - {"_", "gettext"}
            ours = templates.filters[found.name].__module__.startswith("openslot")
            # The filter of a block is applied to what the block shows.
            assert varies or not ours or found.node is None, (path.name, found.lineno)
