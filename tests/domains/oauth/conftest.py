"""A host and our Google, on a Monday morning."""

from tests.support.clocks import clock
from tests.support.google_host import google, settings

__all__ = ["clock", "google", "settings"]
