"""The short form of each proof: every figure is within its bound."""

from importlib import import_module
from pathlib import Path

import pytest

from proofs.figures import Figure, Impossible


@pytest.mark.spread
@pytest.mark.parametrize("part", ["kills", "peers", "clocks", "disk", "soak"])
def test_every_figure_is_kept(part: str, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    try:
        figures: list[Figure] = import_module(f"proofs.{part}").prove(tmp_path, short=True)
    except Impossible as fault:
        pytest.skip(str(fault))
    assert [str(figure) for figure in figures if not figure.is_kept] == []
