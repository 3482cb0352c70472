"""The formats of a public page: HTML for people, Markdown and JSON for assistants and programs."""

import re
from enum import Enum
from functools import lru_cache

from openslot.routing import Request

LONGEST_HEADER = 1000
WEIGHT = re.compile(r"[qQ]=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)")


class Format(Enum):
    """A format that a page can be asked for, by its media type and by the end of its path."""

    HTML = ("text/html", "")
    MARKDOWN = ("text/markdown", ".md")
    JSON = ("application/json", ".json")

    @property
    def media_type(self) -> str:
        """The media type, as `Accept` names it."""
        return self.value[0]

    @property
    def suffix(self) -> str:
        """The end of the path that asks for it."""
        return self.value[1]


FOR_ASSISTANTS = (Format.MARKDOWN, Format.JSON)


def choose_format(request: Request) -> Format:
    """Choose by the end of the path, or else by what is accepted most; a browser gets HTML."""
    for each in FOR_ASSISTANTS:
        if request.path.endswith(each.suffix):
            return each
    return _choose_accepted(request.headers.get("accept", "")[:LONGEST_HEADER])


@lru_cache(maxsize=256)
def _choose_accepted(header: str) -> Format:
    accepted = _read_accept(header)
    return max(Format, key=lambda each: _rank(each, accepted))


def _rank(wanted: Format, accepted: dict[str, float]) -> tuple[float, bool]:
    """Rank a format by its weight; of two with the same weight, the one that is named outranks a wildcard."""
    family = f"{wanted.media_type.partition('/')[0]}/*"
    for name in (wanted.media_type, family, "*/*"):
        if name in accepted:
            return accepted[name], name == wanted.media_type
    return 0, False


def _read_accept(header: str) -> dict[str, float]:
    """Read an `Accept` header; a part that can't be read is left out."""
    accepted: dict[str, float] = {}
    for part in header.split(","):
        name, *parameters = (each.strip() for each in part.split(";"))
        weights = [WEIGHT.fullmatch(each) for each in parameters if each[:1] in {"q", "Q"}]
        if all(weights):
            accepted[name.lower()] = min((float(each[1]) for each in weights if each), default=1.0)
    return accepted
