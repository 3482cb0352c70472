"""Forks of the supervisor: modules are loaded once, and all processes share the memory that they take."""

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from importlib import import_module
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess

from openslot.processes.exits import ENDINGS, holding_signals, leave_on_signals, run

FORK = multiprocessing.get_context("fork")

# A fork that kept another's lifeline, or the socket, would keep it open after the death of the supervisor.
_kept_from_forks: set[int] = set()


@contextmanager
def loading(*modules: str) -> Iterator[None]:
    """Import modules while the block runs; when it ends they are loaded, and no other thread is left."""
    # A collection frees places all over the memory; what a child puts there copies the page.
    gc.disable()
    thread = threading.Thread(target=_load, args=(modules,), daemon=True)
    thread.start()
    yield
    thread.join()
    gc.freeze()
    gc.enable()


def start_fork(process: ForkProcess) -> None:
    """Start a fork; signals wait until it has handlers of its own, because those of the supervisor end its siblings."""
    with holding_signals():
        process.start()


def keep_from_forks(*descriptors: int) -> None:
    """Have each fork close these descriptors, unless it is given them."""
    _kept_from_forks.update(descriptors)


def close_descriptor(descriptor: int) -> None:
    """Close a descriptor that was kept from forks."""
    _kept_from_forks.discard(descriptor)
    os.close(descriptor)


def begin_fork(*, keeping: Collection[int] = ()) -> None:
    """Drop what the fork has of the supervisor and may not keep: its signal handlers and its descriptors."""
    leave_on_signals()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDINGS)
    for descriptor in _kept_from_forks.difference(keeping):
        os.close(descriptor)
    _kept_from_forks.clear()


def ask_fork(question: Callable[[], bytes]) -> bytes:
    """Return the answer of a function that runs in a fork, which then ends; exit if it fails, when it has said why."""
    receiving, sending = FORK.Pipe(duplex=False)
    process = FORK.Process(target=_answer, args=(question, sending))
    start_fork(process)
    sending.close()
    try:
        answer = receiving.recv_bytes()
        process.join()
    except EOFError:
        sys.exit(1)
    finally:
        receiving.close()
        process.terminate()
        process.join()
    return answer


def _answer(question: Callable[[], bytes], sending: "Connection[bytes, bytes]") -> None:
    begin_fork()
    run(lambda: sending.send_bytes(question()))


def _load(modules: Collection[str]) -> None:
    for module in modules:
        import_module(module)
