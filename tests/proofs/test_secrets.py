"""The scan for secrets: in a full run nothing is found, and a secret that was planted is."""

from pathlib import Path

from proofs import secrets


def test_what_was_issued_is_found_nowhere_and_what_is_planted_is_found(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    figures = secrets.prove(tmp_path, short=True)
    assert [str(figure) for figure in figures if not figure.is_kept] == []
