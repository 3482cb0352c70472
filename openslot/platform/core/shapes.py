"""Wire shapes of nouns: how a noun is shown is written from both Structs, once, at import."""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from types import NoneType, UnionType
from typing import Annotated, Any, Generic, TypeVar, Union, cast, get_args, get_origin
from uuid import UUID

from msgspec import Meta, Struct, defstruct
from msgspec.structs import fields

from openslot.platform.core.times import iso
from openslot.platform.i18n import say

Wire = TypeVar("Wire", bound=Struct)
FieldOfStruct = tuple[str, Any] | tuple[str, Any, Any]

KeptReason = Annotated[str, Meta(extra={"is_kept": True})]
"""The words of a person, or a reason of ours as `keep` writes it; the wire has it in English."""

# What the API calls what nouns call by other names; also at the end of a longer name.
_ENDINGS = {"start_time": "starts_at", "end_time": "ends_at", "timezone": "zone"}


def with_fields(added: Iterable[FieldOfStruct], *, kw_only: bool = True) -> Callable[[type[Wire]], type[Wire]]:
    """Add fields that are declared elsewhere to a Struct, each by its name, its type and maybe its default."""
    given = tuple(added)

    def add(struct: type[Wire]) -> type[Wire]:
        names = {"__doc__": struct.__doc__, "__qualname__": struct.__qualname__}
        whole = defstruct(
            struct.__name__, given, bases=(struct,), module=struct.__module__, namespace=names, kw_only=kw_only
        )
        return cast("type[Wire]", whole)

    return add


class Shape(Generic[Wire]):
    """How a wire shape shows a noun: each of its fields is the noun's field of the same name.

    `names` has the fields that are called otherwise, and those in `given` are passed to `show` by keyword. Ids and
    instants become texts, tuples become lists, and Structs in the noun become the shapes that the wire has there.
    """

    def __init__(
        self, wire: type[Wire], noun: type[Struct], *, given: Collection[str] = (), names: Mapping[str, str] = {}
    ) -> None:
        types = {each.name: each.type for each in fields(noun)}
        self.fields = tuple(each.name for each in fields(wire))
        self.sources = {name: _find_source(name, types, names) for name in self.fields if name not in given}
        """The noun's field of each field that is not given."""
        self.instants = {name for name, source in self.sources.items() if _strip(types.get(source)) is datetime}
        scope: dict[str, Any] = {"iso": iso, "say": say}
        made = _write_shape(wire, noun, "noun", scope, given=given, names=names)
        taken = "".join(f", {name}" for name in given)
        # As in `platform/core/rows.py`: what one would write by hand.
        self.show: Callable[..., Wire] = eval(f"lambda noun{', *' if given else ''}{taken}: {made}", scope)  # noqa: S307


def _write_shape(
    wire: type[Struct],
    noun: type[Struct],
    path: str,
    scope: dict[str, Any],
    *,
    given: Collection[str] = (),
    names: Mapping[str, str],
) -> str:
    make = f"make{len(scope)}"
    scope[make] = wire
    types = {each.name: each.type for each in fields(noun)}
    values = []
    for each in fields(wire):
        if each.name in given:
            values.append(f"{each.name}={each.name}")
        else:
            source = _find_source(each.name, types, names)
            value = _write_value(each.type, types.get(source), f"{path}.{source}", scope, names)
            values.append(f"{each.name}={value}")
    return f"{make}({', '.join(values)})"


def _find_source(name: str, types: Mapping[str, Any], names: Mapping[str, str]) -> str:
    if name in names or name in types:
        return names.get(name, name)
    return next((name.removesuffix(end) + own for end, own in _ENDINGS.items() if name.endswith(end)), name)


def _write_value(wire: Any, noun: Any, path: str, scope: dict[str, Any], names: Mapping[str, str]) -> str:
    shown, own = _strip(wire), _strip(noun)
    if _is_kept(noun):
        return f"(say({path}) if {path} else {path})"
    if own is shown or own is None:
        return path
    if own is UUID:
        value = f"str({path})"
    elif own is datetime:
        value = f"iso({path})"
    elif get_origin(own) is tuple and get_origin(shown) is list:
        item = _write_value(get_args(shown)[0], get_args(own)[0], "each", scope, names)
        value = f"list({path})" if item == "each" else f"[{item} for each in {path}]"
    elif isinstance(own, type) and issubclass(own, Struct) and issubclass(shown, Struct):
        value = _write_shape(shown, own, path, scope, names=names)
    else:
        return path
    return f"({value} if {path} is not None else None)" if NoneType in get_args(noun) else value


def _is_kept(type_: Any) -> bool:
    """Tell whether the type is `KeptReason`, or that or None."""
    if get_origin(type_) in (Union, UnionType):
        return any(_is_kept(each) for each in get_args(type_))
    return bool(type_ == KeptReason)


def _strip(type_: Any) -> Any:
    """Return the type without its annotations and without None."""
    if get_origin(type_) is Annotated:
        return _strip(get_args(type_)[0])
    if get_origin(type_) in (Union, UnionType):
        kinds = [each for each in get_args(type_) if each is not NoneType]
        return _strip(kinds[0]) if len(kinds) == 1 else type_
    return type_
