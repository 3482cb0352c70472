"""A step of every build: the wheel names the commit that it was built from, as COMMIT or git tells it."""

import os
import runpy
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the file with the commit; an editable installation asks git each time."""
        self._place = TemporaryDirectory(prefix="openslot-commit-")
        # A new environment has no openslot yet.
        sys.path.insert(0, self.root)
        build = runpy.run_path(str(Path(self.root, "openslot/platform/core/build.py")))
        commit = os.environ.get("COMMIT") or build["find_commit"]()
        if version == "editable" or commit is None:
            return
        written = Path(self._place.name, build["WRITTEN"])
        written.write_text(f"{commit}\n", "utf-8")
        build_data["force_include"][str(written)] = f"openslot/{written.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what the wheel has been given."""
        self._place.cleanup()
