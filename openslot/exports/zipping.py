"""A ZIP file that is written in pieces: memory holds one piece, whatever the size of the file."""

import zipfile
from datetime import datetime
from typing import IO

PIECE = 1024 * 1024


class ZipPieces:
    """Collects what a ZIP file consists of, and gives it away in pieces of one size."""

    def __init__(self, *, written_at: datetime) -> None:
        self._buffer = bytearray()
        self._stamp = written_at.timetuple()[:6]
        # A stream that can't seek makes zipfile write sizes after each file instead of going back.
        self._zip = zipfile.ZipFile(_Sink(self._buffer), "w", zipfile.ZIP_DEFLATED, allowZip64=True)

    def open(self, name: str) -> IO[bytes]:
        """Begin a file; what is written to it is compressed at once."""
        info = zipfile.ZipInfo(name, date_time=self._stamp)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = 0o600 << 16
        return self._zip.open(info, "w", force_zip64=True)

    def take(self) -> bytes | None:
        """Take the next piece; None while there is not enough."""
        if len(self._buffer) < PIECE:
            return None
        piece = bytes(self._buffer[:PIECE])
        del self._buffer[:PIECE]
        return piece

    def close(self) -> bytes:
        """Write the directory at the end and take what is left."""
        self._zip.close()
        rest = bytes(self._buffer)
        self._buffer.clear()
        return rest


class _Sink:
    """A stream that can only be written."""

    def __init__(self, buffer: bytearray) -> None:
        self._buffer = buffer

    def write(self, data: bytes, /) -> int:
        self._buffer += data
        return len(data)

    def flush(self) -> None:
        """Do nothing: everything is in the buffer already."""

    def close(self) -> None:
        """Do nothing: the buffer stays."""
