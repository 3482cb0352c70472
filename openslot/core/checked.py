"""Texts that are validated and normalised when they are read from bodies, queries and forms."""

from typing import Any, ClassVar, Self, cast

from openslot.i18n import Text


class _PlainAtRunTime(type):
    # The decoder checks that the result is an instance of the declared type. A plain string can be stored, compared and
    # encoded everywhere; a subclass of it can't.
    def __instancecheck__(cls, value: object) -> bool:
        return type(value) is str


class CheckedText(str, metaclass=_PlainAtRunTime):
    """A text of a certain kind; at run time a plain string that has passed `parse`."""

    __slots__ = ()

    schema: ClassVar[dict[str, object]] = {"type": "string"}
    """Its JSON Schema in the API's description."""

    def __new__(cls, text: str) -> Self:
        """Check a text and return its normal form, or raise a `ValueError` that says what is wrong with it."""
        return cast("Self", cls.parse(text))

    @classmethod
    def parse(cls, text: str) -> str:
        """Return the normal form, or raise a `ValueError` whose message is shown as the field's error."""
        raise NotImplementedError


def read_checked(kind: type, value: object) -> object:
    """Read a value of a type that the decoder does not support by itself."""
    if not issubclass(kind, CheckedText):
        raise TypeError(f"nobody knows how to read {kind}")
    if type(value) is not str:
        raise ValueError(Text("must be a string, not %(given)s", given=_NAMES.get(type(value), _NAMES[dict])))
    return kind.parse(value)


def describe_checked(kind: type) -> dict[str, Any]:
    """Return the JSON Schema of a type that msgspec can't describe by itself."""
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
