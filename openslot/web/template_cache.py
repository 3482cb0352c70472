"""Compiled templates on disk, so that no process compiles what another has compiled before."""

import sys
from importlib.util import cache_from_source
from pathlib import Path
from pickle import UnpicklingError

from jinja2 import FileSystemBytecodeCache
from jinja2.bccache import Bucket


class TemplateCache(FileSystemBytecodeCache):
    """The templates of one language, kept where Python keeps its own bytecode, and under the same rules.

    A file counts only for the source and the version that it was made from. Where files can't be read or written,
    templates are compiled in memory.
    """

    def __init__(self, language: str, *, version: str) -> None:
        super().__init__(str(Path(cache_from_source(__file__)).parent), f"{language}-%s.template")
        self._version = version

    def get_source_checksum(self, source: str) -> str:
        """Return the checksum of everything that a compiled template is made from."""
        return super().get_source_checksum(self._version + source)

    def load_bytecode(self, bucket: Bucket) -> None:
        """Read a compiled template, unless its file is missing or damaged."""
        try:
            super().load_bytecode(bucket)
        except (OSError, EOFError, ValueError, UnpicklingError):
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Write a compiled template, unless Python is told to write none or the disk refuses."""
        if sys.dont_write_bytecode:
            return
        try:
            super().dump_bytecode(bucket)
        except OSError:
            return
