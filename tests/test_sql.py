"""SQL is in store files; only core, which has no domain, keeps it beside the code that runs it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.sources import PACKAGE, list_modules, parse, read_source

CORE = PACKAGE / "platform" / "core"
# Sentences begin with a capital letter, SQL does not.
SQL = re.compile(
    r"^\s*select\s|\bselect\b.*\bfrom\b|\b(?i:insert\s+into|delete\s+from)\s|\b(?i:update\s+\w+(\s+(as\s+)?\w+)?\s+set)\s",
    re.DOTALL,
)
# A module without them has no SQL, and need not be parsed.
WORDS = re.compile(r"\bselect\b|\binsert\b|\bdelete\b|\bupdate\b", re.IGNORECASE)


def list_literals(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """List the strings of a module with their lines, formatted ones as a whole, but no docstrings."""
    left_out = {
        id(part)
        for node in ast.walk(tree)
        for part in (node.values if isinstance(node, ast.JoinedStr) else [getattr(node, "value", None)])
        if isinstance(node, ast.JoinedStr | ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values),
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield node.lineno, node.value


def find_sql(tree: ast.Module) -> list[int]:
    return [line for line, text in list_literals(tree) if SQL.search(text)]


def is_call_of(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name


def replaces_sql(call: ast.Call) -> bool:
    """Tell whether a `.replace` may change a statement: quoting replaces one or two characters."""
    if not is_call_of(call, "replace") or len(call.args) < 2:
        return False
    replaced = call.args[0]
    return not isinstance(replaced, ast.Call) and not (
        isinstance(replaced, ast.Constant) and len(str(replaced.value)) <= 2
    )


def formats_twice(node: ast.AST) -> bool:
    """Tell whether a format is filled into another one: by its arguments, or by what an f-string leaves for later."""
    if isinstance(node, ast.JoinedStr):
        written = "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
        return re.search(r"\{\w+\}", written) is not None
    if not isinstance(node, ast.Call) or not is_call_of(node, "format"):
        return False
    given = [*node.args, *(each.value for each in node.keywords)]
    inner = [part for each in given for part in ast.walk(each)]
    return any(is_call_of(part, "format") for part in inner)


def find_rewritten_sql(source: str) -> list[int]:
    """List the lines where SQL is made of other SQL by its wording, which nothing notices when the wording changes."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call | ast.JoinedStr)
        and (formats_twice(node) or (isinstance(node, ast.Call) and replaces_sql(node)))
    ]


def may_have_sql(path: Path) -> bool:
    return path.stem == "store" or path.stem.endswith("_store") or CORE in path.parents


def test_sql_is_in_store_files_and_in_core() -> None:
    found = [
        f"{path.relative_to(PACKAGE.parent)}:{line}"
        for path in list_modules()
        if not may_have_sql(path) and WORDS.search(read_source(path))
        for line in find_sql(parse(path))
    ]

    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        'db.fetch("select id from users")',
        'db.fetch("""\nselect\n  id\nfrom users""")',
        'db.fetchval(f"select {LOCK}")',
        'db.execute(f"insert into {table} values ($1)")',
        'db.execute("INSERT INTO users values ($1)")',
        'db.execute("update users as u set name = $1")',
        'db.execute("with gone as (delete from users returning id) select count(*) from gone")',
    ],
)
def test_a_statement_is_recognized(source: str) -> None:
    assert find_sql(ast.parse(source)) == [1]


@pytest.mark.parametrize(
    "source",
    [
        '"""Delete from the list what was selected."""',
        'Text("Select a time from the list")',
        'Text("Update the settings")',
        'def insert() -> None:\n    """Insert into the table."""',
    ],
)
def test_a_sentence_is_not_a_statement(source: str) -> None:
    assert find_sql(ast.parse(source)) == []


# Whether two addresses, usernames or slugs are the same, the database decides, as in its unique indexes: Python folds
# other characters otherwise (İ becomes two). `fold_ascii` is for the letters about which nobody disagrees.
FOLDS = {"lower", "casefold", "upper", "swapcase"}
NAMES_SOMEBODY = re.compile(
    r"address|attendee|e?mail|guest|invitee|mailbox|owner|recipient|slug|user_?name", re.IGNORECASE
)
# Everything that these fold has a reason here.
HOLD_ADDRESSES = (
    "domains/access",
    "domains/accounts",
    "domains/allowances",
    "domains/bookings",
    "domains/contacts",
    "domains/mail",
    "domains/oidc",
    "domains/payments",
    "domains/people",
    "doors/scim",
    "domains/teams",
    "domains/wait_list",
)
FOLDED = {
    "domains/access/door.py": "the scheme of credentials and the name of a host",
    "domains/accounts/organizations/operations.py": "a slug that is suggested, of ASCII letters alone",
    "domains/accounts/profiles/operations.py": "the digits of a color and the scheme of a link",
    "domains/accounts/rules.py": "a username that is suggested, of ASCII letters alone",
    "domains/bookings/schemas.py": "the name of a status in a filter",
    "domains/contacts/imports/csv_files.py": "the line that tells the separator of a spreadsheet",
    "domains/contacts/models.py": "what a search looks in, which only finds and never identifies",
    "platform/core/outbound/resolver.py": "the names of machines",
    "domains/mail/calendar_entry.py": "the names of properties",
    "doors/scim/api.py": "the id of a schema",
    "doors/scim/attributes.py": "the names of attributes and schemas",
    "doors/scim/filters.py": "words of filters, and values of a member's document in the path of a patch",
    "doors/scim/groups/resources.py": "the names of operations and attributes, and ids",
    "doors/scim/groups/store.py": "the names of attributes",
    "doors/scim/patches.py": "the names of operations and attributes",
    "doors/scim/resources.py": "the id of a schema, and the types of addresses",
    "doors/scim/store.py": "the names of attributes",
}
# Where folded texts are compared, in these modules and folders: words that a standard or we have chosen.
COMPARED = {
    "domains/access/door.py": "the scheme of credentials",
    "doors/agents/codebase.py": "paths and lines of files that are searched",
    "doors/assistants/door.py": "the scheme of credentials",
    "doors/oauth/rules.py": "the name of a machine, which must be in lower case",
    "domains/bookings/schemas.py": "the name of a status in a filter",
    "domains/calls/api.py": "the name of an outcome in a filter",
    "cli/agents.py": "the name of a level of agents",
    "platform/core/outbound/": "the names and fixed words of headers",
    "platform/core/sources.py": "the names of machines",
    "domains/event_types/rules.py": "the scheme of a link",
    "doors/http/": "fixed words of headers",
    "domains/calendars/": "the names of properties and codes of errors",
    "domains/oauth/client.py": "the kind of a token",
    "vendors/twilio/signature.py": "the kind of a body, and the name of an algorithm",
    "doors/scim/": "the names of attributes, operations and schemas",
    "doors/web/": "words for yes, and the names of machines",
    "vendors/caldav/": "the names of properties",
    "vendors/microsoft/": "the names of properties and codes of errors",
    "doors/web/dashboard/branding.py": "the digits of a color",
}
# What is called like somebody's name and identifies nobody.
SEARCHED = {("doors/web/admin/organizations.py", "f'{each.organization.name} {each.organization.slug}'")}


def list_folding() -> Iterator[tuple[str, ast.Module]]:
    """List the modules that fold anything."""
    named = re.compile(rf"\.\s*({'|'.join(FOLDS)})\b")
    return ((str(path.relative_to(PACKAGE)), parse(path)) for path in list_modules() if named.search(read_source(path)))


def find_folded(tree: ast.Module) -> list[str]:
    """Name the texts that Python folds; `str` where a function that folds is passed on."""
    return [
        ast.unparse(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in FOLDS
    ]


def may_fold(module: str, text: str) -> bool:
    """Tell whether a module may fold a text: what is called like somebody never, all else where no addresses are."""
    if NAMES_SOMEBODY.search(text):
        return (module, text) in SEARCHED
    return module in FOLDED or not (text == "str" or module.startswith(tuple(f"{each}/" for each in HOLD_ADDRESSES)))


def test_who_somebody_is_is_folded_by_the_database_alone() -> None:
    folded = {(module, text) for module, tree in list_folding() for text in find_folded(tree)}
    assert sorted(each for each in folded if not may_fold(*each)) == []
    assert FOLDED.keys() - {module for module, _ in folded} == set(), "these fold nothing any more"
    assert SEARCHED - folded == set(), "these are not folded any more"


def find_compared(tree: ast.Module) -> list[str]:
    """List the comparisons of which a side is folded, however the texts in them are called."""
    return [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        and any(isinstance(each, ast.Attribute) and each.attr in FOLDS for each in ast.walk(node))
    ]


def may_compare(module: str, comparison: str) -> bool:
    """Tell whether a module may compare folded texts: none of them is called like somebody, and there is a reason."""
    if NAMES_SOMEBODY.search(comparison):
        return any(module == place and text in comparison for place, text in SEARCHED)
    return module.startswith(tuple(COMPARED))


def test_folded_texts_are_compared_only_where_they_name_nobody() -> None:
    compared = {(module, text) for module, tree in list_folding() for text in find_compared(tree)}
    assert sorted(each for each in compared if not may_compare(*each)) == []
    unused = {place for place in COMPARED if not any(module.startswith(place) for module, _ in compared)}
    assert unused == set(), "these compare nothing any more"


@pytest.mark.parametrize(
    "source",
    [
        "found = next(each for each in usable if (each.organization_slug or OWN) == named.lower())",
        "if named.casefold() in {each.email for each in usable}: ...",
        "is_same = 'a' < given.upper() != owner",
    ],
)
def test_a_comparison_is_recognized_by_either_side(source: str) -> None:
    (comparison,) = find_compared(ast.parse(source))
    assert not may_compare("platform/core/outbound/client.py", comparison)


@pytest.mark.parametrize(
    "source",
    [
        "known = {each.email.lower(): each for each in members}",
        "if a.slug.casefold() == slug: ...",
        "seen = set(map(str.lower, texts))",
        "found = sorted(emails, key=str.casefold)",
        "lease.owner_email.upper()",
    ],
)
@pytest.mark.parametrize("module", ["web/page.py", "cli/team.py", "doors/agents/tools/bookings.py"])
def test_a_folded_address_is_recognized_everywhere(module: str, source: str) -> None:
    (text,) = find_folded(ast.parse(source))
    assert not may_fold(module, text)


def test_a_reason_excuses_nothing_that_is_called_like_somebody() -> None:
    assert may_fold("domains/accounts/rules.py", "plain")
    assert not may_fold("domains/accounts/rules.py", "wanted.username.strip()")


def test_any_folded_text_is_recognized_where_addresses_are() -> None:
    (text,) = find_folded(ast.parse("wanted = text.strip().lower()"))
    assert not may_fold("domains/accounts/members/operations.py", text)
    assert may_fold("web/page.py", text)


def test_sql_is_composed_by_functions() -> None:
    found = [
        f"{path.relative_to(PACKAGE.parent)}:{line}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if may_have_sql(path)
        for line in find_rewritten_sql(path.read_text())
    ]

    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        'HOSTS = HOSTS_WITHOUT.replace(" and c.id <> $1", "")',
        "WITH_HOST.replace(OWN, PENDING)",
        'added.replace(f"{host}", "x", 1)',
        'LIST.format(of_person=OF_PERSON.format(phone="f.phone"))',
        'COUNT = f"select count(*) from {OWNED} where {{matching}}"',
        'SEARCH = f"select {SHOWN} from found limit ${{limit}}"',
    ],
)
def test_rewritten_sql_is_recognized(source: str) -> None:
    assert find_rewritten_sql(source) == [1]


@pytest.mark.parametrize(
    "source",
    [
        "fresh.replace(path)",
        "name.replace('\"', '\"\"')",
        "part.replace(chr(34), chr(34) * 2)",
        "at.replace(tzinfo=UTC)",
        "PLANS = f\"coalesce({plans}, '{{}}')\"",
        'MEETING.format(when="b.ends_at > $4")',
    ],
)
def test_other_text_may_be_replaced(source: str) -> None:
    assert find_rewritten_sql(source) == []


# What is joined with rows to lock may be read again for each row of the other side: it locks more than its limit.
READ_ONCE = ("materialized", "array", "=")


def find_locked_again(tree: ast.Module) -> list[int]:
    """List the statements that lock a limited number of rows in a part of theirs that may be read more than once."""
    return [line for line, text in list_literals(tree) if locks_again(text)]


def locks_again(text: str) -> bool:
    for locking in re.finditer(r"\bfor\s+(?:no\s+key\s+)?update\b", text):
        begin = find_opening(text, locking.start())
        is_limited = re.search(r"\blimit\b", text[begin + 1 : locking.start()])
        if begin >= 0 and is_limited and not text[:begin].rstrip().endswith(READ_ONCE):
            return True
    return False


def find_opening(text: str, at: int) -> int:
    """Find the bracket that is open at a place; -1 if none is."""
    depth = 0
    for index in range(at - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(text[index], 0)
        if depth < 0:
            return index
    return -1


def test_a_limited_number_of_rows_is_locked_once() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in list_modules()
        if "limit" in read_source(path)
        for line in find_locked_again(parse(path))
    ]
    assert found == [], "write `with … as materialized (…)`, or `= any(array(…))`"


@pytest.mark.parametrize(
    ("statement", "is_found"),
    [
        ("update t set a = 1 from (select id from t order by id limit 3 for update skip locked) due", True),
        ("delete from t where id in (select id from t limit (3) for update)", True),
        ("with due as (select id from t limit 3 for no key update) update t set a = 1 from due", True),
        ("with due as materialized (select id from t limit 3 for update) update t set a = 1 from due", False),
        ("delete from t where id = any(array(select id from t limit 3 for update skip locked))", False),
        ("delete from t where id = (select id from t limit 1 for update)", False),
        ("select id from t order by id limit 3 for update", False),
        ("update t set a = 1 from (select id from t for update) due", False),
    ],
)
def test_a_statement_that_locks_again_is_recognized(statement: str, is_found: bool) -> None:
    assert locks_again(statement) is is_found
