"""Parameters and paths as Stripe reads them: a form whose names have brackets, `line_items[0][quantity]=1`."""

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote, urlencode

Value = str | int | bool | None | Sequence["Value"] | Mapping[str, "Value"]
Parameters = Mapping[str, Value]


def segment(id_: str) -> str:
    """Write an id as one part of a path, whatever it contains."""
    return quote(id_, safe="")


def encode(parameters: Parameters) -> str:
    return urlencode(list(list_pairs(parameters)))


def list_pairs(parameters: Parameters) -> Iterator[tuple[str, str]]:
    """Flatten nested parameters; those that are None are not sent."""
    for name, value in parameters.items():
        yield from _flatten(name, value)


def _flatten(name: str, value: Value) -> Iterator[tuple[str, str]]:
    if value is None:
        return
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _flatten(f"{name}[{key}]", each)
    elif isinstance(value, bool):
        yield name, "true" if value else "false"
    elif isinstance(value, str | int):
        yield name, str(value)
    else:
        for number, each in enumerate(value):
            yield from _flatten(f"{name}[{number}]", each)
