"""Filters as SQL: what can be asked about users, with every value a bound parameter."""

from msgspec import Struct

from openslot.scim.attributes import CORE, USER
from openslot.scim.errors import InvalidFilter
from openslot.scim.filters import And, AttributePath, Comparison, Filter, Value, ValuePath, part_of, to_boolean

SUPPORTED = (
    "Supported are eq, co and sw on userName, externalId, emails.value, displayName and id, "
    'eq on active, emails[type eq "work"], and terms joined by and'
)
# A member that was not created by a provider is shown with the account's data.
COLUMNS = {
    "username": "case when p.profile is null then u.email else p.profile ->> 'userName' end",
    "displayname": "case when p.profile is null then u.name else p.profile ->> 'displayName' end",
    "externalid": "p.profile ->> 'externalId'",
    "id": "m.id::text",
}
CASE_EXACT = frozenset({"externalid", "id"})
EMAILS = """case when p.profile is null
    then json_build_array(json_build_object('value', u.email, 'type', 'work', 'primary', true))
    else coalesce(p.profile -> 'emails', '[]') end"""
ACTIVE = "case when p.member_id is null then m.active else p.active end"
# Two indexes are used instead of a scan of all members, because providers look up a userName before each change.
USER_NAME_EQ = """m.id in (
    select n.member_id from member_profiles n
    where n.organization_id = $1 and lower(n.profile ->> 'userName') = lower({value})
    union all
    select n.id from users a join memberships n on n.user_id = a.id left join member_profiles q on q.member_id = n.id
    where lower(a.email) = lower({value}) and n.organization_id = $1 and q.profile is null)"""
# The id is compared as text, so that a malformed id is simply not found.
TESTS = {"eq": "{found} = {value}", "co": "strpos({found}, {value}) > 0", "sw": "starts_with({found}, {value})"}

_EMAILS = next(each for each in USER if each.name == "emails")


class Condition(Struct, frozen=True):
    """A condition on `m`, a membership, `p`, its profile, and `u`, its account; `$1` is the organization."""

    sql: str
    args: tuple[str | bool, ...] = ()


def to_sql(term: Filter) -> Condition:
    """Write a filter as SQL, or refuse what is not supported."""
    writer = _Writer()
    sql = writer.write(term)
    return Condition(sql, tuple(writer.args))


class _Writer:
    """Collects the values while it writes."""

    def __init__(self) -> None:
        self.args: list[str | bool] = []

    def write(self, term: Filter) -> str:
        match term:
            case And(terms):
                return " and ".join(f"({self.write(each)})" for each in terms)
            case Comparison(path, operator, value):
                return self._write_comparison(path, operator, value)
            case ValuePath(path, inner) if _is_core(path, "emails"):
                return self._write_any_email(inner)
        raise _refusal()

    def _write_comparison(self, path: AttributePath, operator: str, value: Value) -> str:
        if _is_core(path, "active"):
            return self._write_active(operator, value)
        if _is_core(path, "emails") or _is_core(path, "emails", "value"):
            return self._write_any_email(Comparison(AttributePath(CORE, "value"), operator, value))  # type: ignore[arg-type]
        name = path.name.lower()
        if not _is_core(path, name) or name not in COLUMNS:
            raise _refusal()
        if name == "username" and operator == "eq":
            return USER_NAME_EQ.format(value=self._bind(value))
        return self._write_test(COLUMNS[name], operator, value, case_exact=name in CASE_EXACT)

    def _write_active(self, operator: str, value: Value) -> str:
        wanted = to_boolean(value)
        if operator != "eq" or wanted is None:
            raise _refusal()
        self.args.append(wanted)
        return f"{ACTIVE} = ${len(self.args) + 1}::boolean"

    def _write_any_email(self, inner: Filter) -> str:
        return f"exists (select from json_array_elements({EMAILS}) e where {self._write_email(inner)})"

    def _write_email(self, term: Filter) -> str:
        match term:
            case And(terms):
                return " and ".join(f"({self._write_email(each)})" for each in terms)
            case Comparison(path, operator, value):
                part = part_of(_EMAILS, path)
                if part.name == "primary":
                    return self._write_primary(operator, value)
                return self._write_test(f"e ->> '{part.name}'", operator, value, case_exact=False)
        raise _refusal()

    def _write_primary(self, operator: str, value: Value) -> str:
        wanted = to_boolean(value)
        if operator != "eq" or wanted is None:
            raise _refusal()
        self.args.append(wanted)
        return f"coalesce((e ->> 'primary')::boolean, false) = ${len(self.args) + 1}::boolean"

    def _write_test(self, found: str, operator: str, value: Value, *, case_exact: bool) -> str:
        if operator not in TESTS:
            raise _refusal()
        bound = self._bind(value)
        if case_exact:
            return TESTS[operator].format(found=f"({found})", value=bound)
        return TESTS[operator].format(found=f"lower({found})", value=f"lower({bound})")

    def _bind(self, value: Value) -> str:
        if not isinstance(value, str):
            raise InvalidFilter("The value must be a string in double quotes")
        if "\x00" in value:
            raise InvalidFilter("The value has characters that are not allowed")
        self.args.append(value)
        return f"${len(self.args) + 1}::text"


def _is_core(path: AttributePath, name: str, part: str | None = None) -> bool:
    found = (path.name.lower(), path.part.lower() if path.part else None)
    return path.schema == CORE and found == (name, part)


def _refusal() -> InvalidFilter:
    return InvalidFilter(f"This filter is not supported. {SUPPORTED}")
