"""Nouns as rows of a table: the columns, the values and the reader are written from the Struct, once, at import."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct, inspect

Noun = TypeVar("Noun", bound=Struct)

_PLAIN = (
    inspect.BoolType,
    inspect.BytesType,
    inspect.DateTimeType,
    inspect.DateType,
    inspect.FloatType,
    inspect.IntType,
    inspect.LiteralType,
    inspect.StrType,
    inspect.UUIDType,
)
_ARRAYS = {inspect.VarTupleType: tuple, inspect.FrozenSetType: frozenset, inspect.ListType: list}


class Rows(Generic[Noun]):
    """How a table keeps a noun.

    `table` is the table and its alias, as in `from`; `prefix` keeps the columns apart from those of other tables in the
    same row. Enums, arrays (tuples of plain values) and JSON (Structs, dicts, and tuples of them) are converted.

    A field that is no column says so here: one in `computed` is read by an expression and never written, one in `given`
    is passed to `read`, and a Struct in `spread` has a column for each of its fields, with this prefix. A tuple of
    plain values that is stored as JSON is in `json`.
    """

    def __init__(
        self,
        noun: type[Noun],
        table: str,
        *,
        prefix: str = "",
        computed: Mapping[str, str] = {},
        given: Collection[str] = (),
        spread: Mapping[str, str] = {},
        json: Collection[str] = (),
    ) -> None:
        self.table, _, alias = table.partition(" ")
        columns = _list_columns(noun, given, spread, json)
        own = f"{alias}." if alias else ""
        expressions = {each.name: computed.get(each.name, own + each.name) for each in columns}
        self.columns = ", ".join(f"{expression} as {prefix}{name}" for name, expression in expressions.items())
        self.read: Callable[..., Noun] = _write_reader(noun, columns, prefix=prefix, takes_given=bool(given))
        """Make the noun of a row that has `columns`; what is given by keyword."""
        self.stored: Part[Noun] = Part([each for each in columns if each.name not in computed])
        self.values = self.stored.values
        """Return what `insert` writes."""

    def insert(self, *more: str) -> str:
        """Write the statement that inserts the values of `stored`, and then those of more columns."""
        last = len(self.stored.names)
        columns = ", ".join((self.stored.columns, *more))
        parameters = ", ".join((self.stored.parameters(), *(f"${last + number}" for number, _ in enumerate(more, 1))))
        return f"insert into {self.table} ({columns}) values ({parameters})"


class Part(Generic[Noun]):
    """Some columns of a noun that are written together."""

    def __init__(self, columns: Sequence["Column"]) -> None:
        self._columns = {each.name: each for each in columns}
        self.names = tuple(self._columns)
        self.values: Callable[[Noun], tuple[object, ...]] = _write_values(columns)

    def only(self, *names: str) -> "Part[Noun]":
        return Part([self._columns[name] for name in names])

    def without(self, *names: str) -> "Part[Noun]":
        return self.only(*(name for name in self.names if name not in names))

    @property
    def columns(self) -> str:
        return ", ".join(self.names)

    def parameters(self, *, first: int = 1) -> str:
        """Write `$1, $2, …` for an insert."""
        return ", ".join(f"${index}" for index in range(first, first + len(self.names)))

    def assign(self, *, first: int) -> str:
        """Write `name = $3, …` for an update, counted from the first parameter on."""
        return ", ".join(f"{name} = ${number}" for number, name in enumerate(self.names, first))


class Column(Struct, frozen=True):
    """A field of a noun, or a part of a field that is spread over several columns."""

    name: str
    field: str
    type: Any
    is_json: bool
    whole: Any = None
    """The Struct that it is a part of."""
    part: str = ""


def _list_columns(
    noun: type[Struct], given: Collection[str], spread: Mapping[str, str], json: Collection[str]
) -> list[Column]:
    columns = []
    for field in msgspec.structs.fields(noun):
        if field.name in spread:
            columns += [
                Column(
                    spread[field.name] + part.name, field.name, part.type, _is_json(part.type), field.type, part.name
                )
                for part in msgspec.structs.fields(field.type)
            ]
        elif field.name not in given:
            is_json = field.name in json or _is_json(field.type)
            columns.append(Column(field.name, field.name, field.type, is_json))
    return columns


def _write_reader(noun: type[Noun], columns: list[Column], *, prefix: str, takes_given: bool) -> Callable[..., Noun]:
    scope: dict[str, Any] = {"make": noun}
    fields: dict[str, str] = {}
    parts: dict[str, list[str]] = {}
    for each in columns:
        value = f"row[{prefix + each.name!r}]"
        if read := _find_reader(each):
            scope[f"read_{each.name}"] = read
            absent = f" if {value} is not None else None" if _is_optional(each.type) else ""
            value = f"read_{each.name}({value}){absent}"
        if each.whole is not None:
            scope[f"make_{each.field}"] = each.whole
            parts.setdefault(each.field, []).append(f"{each.part}={value}")
            value = f"make_{each.field}({', '.join(parts[each.field])})"
        fields[each.field] = f"{each.field}={value}"
    arguments = [*fields.values(), *(["**given"] if takes_given else [])]
    reader: Callable[..., Noun] = _evaluate(
        f"lambda row{', **given' if takes_given else ''}: make({', '.join(arguments)})", scope
    )
    return reader


def _write_values(columns: Sequence[Column]) -> Callable[[Any], tuple[object, ...]]:
    values = []
    for each in columns:
        value = f"noun.{each.field}{'.' if each.part else ''}{each.part}"
        absent = f" if {value} is not None else None" if _is_optional(each.type) else ""
        values.append(f"encode({value}).decode(){absent}" if each.is_json else value)
    source = f"lambda noun: ({''.join(f'{value}, ' for value in values)})"
    writer: Callable[[Any], tuple[object, ...]] = _evaluate(source, {"encode": msgspec.json.encode})
    return writer


def _evaluate(source: str, scope: dict[str, Any]) -> Any:
    # It is what one would write by hand, as `dataclass` does it: a loop over the columns of each row takes twice as
    # long. The source has only the names of fields in it.
    return eval(source, scope)  # noqa: S307


def _find_reader(column: Column) -> Callable[[Any], Any] | None:
    kind = _list_kinds(column.type)[0]
    if column.is_json:
        return msgspec.json.Decoder(column.type).decode
    if isinstance(kind, inspect.EnumType):
        return {each.value: each for each in kind.cls}.__getitem__
    array: Callable[[Any], Any] | None = _ARRAYS.get(type(kind))
    if array is None or isinstance(kind.item_type, _PLAIN):
        return array
    make = kind.item_type.cls
    return lambda values: array(map(make, values))


def _is_json(type_: Any) -> bool:
    """Return whether values are neither plain nor members of an enum, nor arrays of these."""
    kinds = [kind.item_type if type(kind) in _ARRAYS else kind for kind in _list_kinds(type_)]
    return not all(isinstance(kind, (*_PLAIN, inspect.EnumType)) for kind in kinds)


def _is_optional(type_: Any) -> bool:
    info = inspect.type_info(type_)
    return isinstance(info, inspect.UnionType) and info.includes_none


def _list_kinds(type_: Any) -> list[Any]:
    info = inspect.type_info(type_)
    kinds = info.types if isinstance(info, inspect.UnionType) else (info,)
    plain = (kind.type if isinstance(kind, inspect.Metadata) else kind for kind in kinds)
    return [kind for kind in plain if not isinstance(kind, inspect.NoneType)]
