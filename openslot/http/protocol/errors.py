"""Refusals of the protocol itself: no door has seen these requests."""

from openslot.core.errors import Refusal


class HeadTooLarge(Refusal):
    """The request line and the header fields are too large."""

    code = "head_too_large"
    status = 431


class RequestTimeout(Refusal):
    """The request did not arrive in time."""

    code = "timeout"
    status = 408
