"""Texts: English for programs and logs, and in every language of the catalogs for people."""

from collections.abc import Mapping
from typing import Self

import msgspec


class Text(str):
    """An English text that keeps what a translation needs: the text as the catalogs have it, and its values.

    `make messages` collects every text that is written as the first argument.
    """

    __slots__ = ("msgid", "values")

    msgid: str
    values: Mapping[str, object]

    def __new__(cls, msgid: str, /, **values: object) -> Self:
        """Fill in each `%(name)s`; a text without values is taken as it is."""
        text = super().__new__(cls, msgid % values if values else msgid)
        text.msgid, text.values = msgid, values
        return text

    def fill(self, **values: object) -> "Text":
        """Return the same text with these values."""
        return Text(self.msgid, **values)


class PluralText(Text):
    """A text whose words depend on `count`, which is one of its values."""

    __slots__ = ("number", "plural")

    number: int
    plural: str

    def __new__(cls, singular: str, plural: str, /, *, count: int, **values: object) -> Self:
        """Choose between the two forms that English has."""
        all_values = {"count": count, **values}
        text = str.__new__(cls, (singular if count == 1 else plural) % all_values)
        text.msgid, text.plural, text.number, text.values = singular, plural, count, all_values
        return text


_REASONS: dict[str, "CodedReason"] = {}
_values = msgspec.json.Decoder(dict[str, str])
LONGEST_KEPT = 1000


class CodedReason(Text):
    """Why something was done, was not done or has failed: kept as a code with its values, and said in words.

    What is kept outlives its words, and the process that wrote it: a code that was released keeps its meaning. `said`
    is the sentence for programs and logs, where pages have other words.
    """

    __slots__ = ("_said", "code")

    code: str
    _said: str

    def __new__(cls, code: str, msgid: str, /, *, said: str = "", **values: object) -> Self:
        """Declare the words of a code, or fill in its values."""
        text = super().__new__(cls, msgid, **values)
        text.code, text._said = code, said or msgid
        if _REASONS.setdefault(code, text).msgid != msgid:
            raise ValueError(f"the code {code!r} has two meanings")
        return text

    def fill(self, **values: object) -> "CodedReason":
        return CodedReason(self.code, self.msgid, said=self._said, **values)

    @property
    def said(self) -> str:
        return self._said % self.values if self.values else self._said

    @property
    def kept(self) -> str:
        values = {name: str(value) for name, value in self.values.items()}
        kept = f"{self.code} {msgspec.json.encode(values).decode()}" if values else self.code
        return kept if len(kept) <= LONGEST_KEPT else self.said[:LONGEST_KEPT]


def keep(said: str) -> str:
    """Return what is stored of a reason: its code with its values; the words of somebody else stay as they are.

    Words that read like a code get a space in front of them, so that nobody speaks in our name.
    """
    if isinstance(said, CodedReason):
        return said.kept
    return f" {said}" if isinstance(recall(said), CodedReason) else str(said)


def recall(kept: str) -> str:
    """Return the reason that was kept, which can be translated; anything else is somebody's own words.

    Of a step that was replaced after it had failed, the reason is the replacement.
    """
    found = _find(kept)
    return found or _find(kept.partition("; ")[0]) or kept


def say(kept: str) -> str:
    """Say in English what was kept, for programs and logs."""
    if found := _find(kept):
        return found.said
    head, mark, rest = kept.partition("; ")
    first = _find(head)
    if first is None:
        return kept
    had_failed = "it had failed: " if rest.startswith("it had failed: ") else ""
    return f"{first.said}{mark}{had_failed}{say(rest.removeprefix(had_failed))}"


def list_reasons() -> list[CodedReason]:
    return list(_REASONS.values())


def _find(kept: str) -> CodedReason | None:
    code, _, given = kept.partition(" ")
    declared = _REASONS.get(code)
    if declared is None:
        return None
    try:
        return declared.fill(**_values.decode(given)) if given else declared
    except (msgspec.MsgspecError, KeyError):
        return None
