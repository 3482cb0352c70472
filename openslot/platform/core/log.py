"""Structured logs: one line per event, with the id of the request or job."""

import logging
import sys
from contextlib import suppress
from typing import TextIO, cast

import structlog
from structlog.typing import EventDict, Processor

from openslot.platform.core.config import Settings
from openslot.platform.core.outages import OUTAGE, is_lost


class _Lossy:
    """A stream that drops lines when the disk is full instead of raising an error in the code that logs."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()


def _leave_out_losses(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Replace the exceptions of a database that can't be reached by a line a minute."""
    raised = event.get("exc_info")
    fault = (
        raised if isinstance(raised, BaseException) else raised[1] if isinstance(raised, tuple) else sys.exc_info()[1]
    )
    if raised and fault is not None and is_lost(fault):
        OUTAGE.mention(fault)
        raise structlog.DropEvent
    return event


def _is_no_loss(record: logging.LogRecord) -> bool:
    """Do the same for what libraries log."""
    fault = record.exc_info[1] if record.exc_info else None
    if fault is None or not is_lost(fault):
        return True
    OUTAGE.mention(fault)
    return False


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
        processors=[_leave_out_losses, *shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(cast("TextIO", _Lossy(sys.stderr))),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processor=renderer))
    handler.addFilter(_is_no_loss)
    logging.basicConfig(handlers=[handler], level=max(level, logging.WARNING), force=True)
