"""Texts that check themselves when they are read, in bodies, queries and forms, and come out in their normal form."""

from typing import Any, ClassVar, Self, cast

from openslot.i18n import Text


class _PlainAtRunTime(type):
    # The reader asks whether it got what the type promises. A plain string is stored, compared and encoded by
    # everything; a subclass of it is not.
    def __instancecheck__(cls, value: object) -> bool:
        return type(value) is str


class CheckedText(str, metaclass=_PlainAtRunTime):
    """A text of a certain kind; at run time a plain string that has passed `parse`."""

    __slots__ = ()

    schema: ClassVar[dict[str, object]] = {"type": "string"}
    """What the API's description says of it."""

    def __new__(cls, text: str) -> Self:
        """Check a text and give its normal form, or raise a `ValueError` that says what is wrong with it."""
        return cast("Self", cls.parse(text))

    @classmethod
    def parse(cls, text: str) -> str:
        """Give the normal form, or raise a `ValueError` in the words of a field's fault."""
        raise NotImplementedError


def read_checked(kind: type, value: object) -> object:
    """Read a value of a type that the decoder itself does not know."""
    if not issubclass(kind, CheckedText):
        raise TypeError(f"nobody knows how to read {kind}")
    if type(value) is not str:
        raise ValueError(Text("must be a string, not %(given)s", given=_NAMES.get(type(value), _NAMES[dict])))
    return kind.parse(value)


def describe_checked(kind: type) -> dict[str, Any]:
    """Give the JSON Schema of a type that the describer itself does not know."""
    if not issubclass(kind, CheckedText):
        raise NotImplementedError(f"nobody knows how to describe {kind}")
    return dict(kind.schema)


_NAMES: dict[type, str] = {
    int: Text("an integer"),
    float: Text("a number"),
    bool: Text("true or false"),
    list: Text("a list"),
    dict: Text("an object"),
    type(None): Text("null"),
}
