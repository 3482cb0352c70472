"""The embedded database's page cache follows the memory that there is."""

from pathlib import Path

import pytest

from openslot.platform.core.embedded import process

GIGABYTE = 1024**3


@pytest.mark.parametrize(
    ("total", "megabytes"),
    [(0, 64), (GIGABYTE // 4, 64), (GIGABYTE * 3 // 4, 96), (GIGABYTE, 96), (900 * GIGABYTE, 96)],
)
def test_an_eighth_of_the_memory_within_bounds(total: int, megabytes: int) -> None:
    assert process.page_cache_megabytes(total) == megabytes


@pytest.mark.parametrize(
    ("limit", "megabytes"), [("1073741824\n", 96), ("0\n", 64), ("max\n", None), ("nonsense\n", None), (None, None)]
)
def test_a_containers_limit_counts_where_there_is_one(
    limit: str | None, megabytes: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "CONTAINER_LIMIT", tmp_path / "nowhere")
    of_the_machine = process.page_cache_megabytes()
    if limit is not None:
        (tmp_path / "memory.max").write_text(limit)
        monkeypatch.setattr(process, "CONTAINER_LIMIT", tmp_path / "memory.max")

    assert process.page_cache_megabytes() == (of_the_machine if megabytes is None else megabytes)
