"""A server that speaks just enough of PostgreSQL's protocol to be too old, or to know no password."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

SSL_REQUEST = 80877103
OLD = "9.6.24"


@contextmanager
def listening(answer: bytes) -> Iterator[str]:
    """Answer every connection in the same way, and tell the address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_serve, args=(listener, answer), daemon=True).start()
        yield f"postgresql://somebody:open-sesame@127.0.0.1:{listener.getsockname()[1]}/openslot"
        listener.shutdown(socket.SHUT_RDWR)


def too_old() -> bytes:
    """Welcome the client and say that the server is old."""
    settings = {"server_version": OLD, "client_encoding": "UTF8", "integer_datetimes": "on"}
    told = b"".join(_message(b"S", f"{name}\0{value}\0".encode()) for name, value in settings.items())
    return _message(b"R", struct.pack("!i", 0)) + told + _message(b"K", struct.pack("!ii", 1, 1)) + _message(b"Z", b"I")


def wrong_password() -> bytes:
    """Refuse the client as PostgreSQL does."""
    return _message(b"E", b'SFATAL\0C28P01\0Mpassword authentication failed for user "somebody"\0\0')


def _serve(listener: socket.socket, answer: bytes) -> None:
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        # Whoever has heard enough may hang up at any moment.
        with client, suppress(OSError, struct.error):
            while struct.unpack("!i", _startup(client)[:4])[0] == SSL_REQUEST:
                client.sendall(b"N")
            client.sendall(answer)
            client.recv(1024)


def _startup(client: socket.socket) -> bytes:
    (length,) = struct.unpack("!i", client.recv(4, socket.MSG_WAITALL))
    return client.recv(length - 4, socket.MSG_WAITALL)


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body
