"""A release that can not be built is told in a sentence."""

from pathlib import Path

import pytest

from proofs.releases import CannotBuild, build_release


def test_a_commit_that_is_not_in_this_clone_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(CannotBuild, match=r"built from commit 0{40}, which .* git fetch --unshallow"):
        build_release("0" * 40, tmp_path / "release")
