"""The short form of each proof: every figure is within its bound."""

from importlib import import_module
from pathlib import Path

import pytest

from proofs.figures import Figure, Impossible
from proofs.releases import CannotBuild, check_history
from tests.upgrades.statements import load_release


@pytest.mark.spread
@pytest.mark.parametrize("part", ["upgrade", "mutants", "restore", "kills", "peers", "clocks", "disk", "soak"])
def test_every_figure_is_kept(part: str, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    try:
        if part == "upgrade":
            check_history(load_release().commit)
        figures: list[Figure] = import_module(f"proofs.{part}").prove(tmp_path, short=True)
    except (CannotBuild, Impossible) as fault:
        pytest.skip(str(fault))
    # Beside other tests everything takes longer.
    assert [str(figure) for figure in figures if not figure.is_kept and figure.within is None] == []
