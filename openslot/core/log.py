"""Structured logs: one line per event, with the id of the request or job."""

import logging
import sys
from contextlib import suppress
from typing import TextIO, cast

import structlog
from structlog.typing import Processor

from openslot.core.config import Settings


class _Lossy:
    """A stream that drops lines when the disk is full instead of raising an error in the code that logs."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text, ignoring errors."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush the stream, ignoring errors."""
        with suppress(OSError):
            self._stream.flush()


def set_up_logging(settings: Settings) -> None:
    """Send our own and the libraries' logs to standard error, for people or as JSON."""
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    for_people = settings.log_format == "console" or (settings.log_format == "auto" and sys.stderr.isatty())
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    renderer: Processor = structlog.dev.ConsoleRenderer() if for_people else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(cast("TextIO", _Lossy(sys.stderr))),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processor=renderer))
    logging.basicConfig(handlers=[handler], level=max(level, logging.WARNING), force=True)
