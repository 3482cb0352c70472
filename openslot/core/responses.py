"""What a REST handler may answer besides success, for the API's description."""

from typing import Annotated

from litestar.openapi import ResponseSpec
from msgspec import Meta, Struct


class ErrorBody(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What went wrong, and in which fields."""

    error: Annotated[str, Meta(description="What is wrong, for a person to read", examples=["Invalid request"])]
    details: Annotated[
        dict[str, str],
        Meta(description="Field to fault, every wrong field at once", examples=[{"page": "must be at least 1"}]),
    ] = {}


class Success(Struct, frozen=True):
    """It is done."""

    success: Annotated[bool, Meta(examples=[True])] = True


def _refusal(description: str) -> ResponseSpec:
    return ResponseSpec(data_container=ErrorBody, description=description, generate_examples=False)


ERRORS = {
    400: _refusal("Something in the request is wrong; `details` names every wrong field"),
    401: _refusal("The key is missing, wrong, expired or inactive"),
    404: _refusal("It does not exist, or it is not yours"),
    405: _refusal("The path does not take this method"),
    429: _refusal("A limit is reached; wait `Retry-After` seconds"),
    500: _refusal("Something broke on our side; nothing was changed"),
    503: _refusal("The service can't answer right now; try again after `Retry-After` seconds"),
}
WRITE_ERRORS = {
    **ERRORS,
    409: _refusal("What is already there stands against it"),
    413: _refusal("The body is larger than 256 KiB"),
    415: _refusal("The body is not JSON"),
}
PUBLIC_ERRORS = {status: spec for status, spec in ERRORS.items() if status != 401}
PUBLIC_WRITE_ERRORS = {status: spec for status, spec in WRITE_ERRORS.items() if status != 401}
