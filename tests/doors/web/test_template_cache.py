"""Compiled templates are kept for other processes, and count only for what they were made from."""

import sys
from pathlib import Path
from typing import Any

import pytest
from jinja2 import DictLoader, Environment, nodes

from openslot.doors.web.shared import templating
from openslot.doors.web.shared.templating import TemplateCache, templates
from tests.doors.web.support import SOURCES


class Compiling(Environment):
    """Templates that tell which of them had to be compiled."""

    compiled: list[str | None]

    def _generate(self, source: nodes.Template, name: str | None, *rest: Any, **options: Any) -> str:
        self.compiled.append(name)
        return super()._generate(source, name, *rest, **options)


def show(source: str = "Hello {{ name }}") -> tuple[str, int]:
    """Show a template as a process that has just started, and tell how many it has compiled."""
    opened = Compiling(loader=DictLoader({"a.html": source}), bytecode_cache=TemplateCache())
    opened.compiled = []
    return opened.get_template("a.html").render(name="Mara"), len(opened.compiled)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep bytecode in a folder of the test's own."""
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    kept = Path(TemplateCache().directory)
    kept.mkdir(parents=True)
    return kept


def test_the_next_process_compiles_nothing_again(folder: Path) -> None:
    assert show() == ("Hello Mara", 1)
    assert show() == ("Hello Mara", 0)
    assert len(list(folder.iterdir())) == 1


def test_another_source_or_version_of_jinja_is_compiled_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    show()

    assert show("Bye {{ name }}") == ("Bye Mara", 1)
    monkeypatch.setattr(templating, "version", lambda _: "99.0")
    assert show("Bye {{ name }}") == ("Bye Mara", 1)


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


def test_no_result_of_our_own_code_is_compiled_into_a_template() -> None:
    """Jinja applies a filter to a constant when it compiles, and the file does not follow our filters."""
    for path in SOURCES:
        for found in templates.parse(path.read_text("utf-8")).find_all(nodes.Filter):
            varies = any(found.find_all(nodes.Name))
            ours = templates.filters[found.name].__module__.startswith("openslot")
            # The filter of a block is applied to what the block shows.
            assert varies or not ours or found.node is None, (path.name, found.lineno)
