"""Scripts are split where psql would split them."""

import pytest

from openslot.platform.core.migrate import former_migrations, known_migrations, split_statements

EVERY = former_migrations() | known_migrations()


@pytest.mark.parametrize(
    ("script", "statements"),
    [
        ("", []),
        (" \n ; ; -- nothing\n/* at all */", []),
        ("select 1", ["select 1"]),
        ("select 1; select 2;\n", ["select 1", "select 2"]),
        ("-- first; not a statement\nselect 1;", ["select 1"]),
        ("select 1 -- half; way\n, 2;", ["select 1  \n, 2"]),
        ("select /* a; /* b; */ c; */ 1;", ["select   1"]),
        ("select ';', 'it''s; fine'; select 2", ["select ';', 'it''s; fine'", "select 2"]),
        (r"select E'a\';b'; select 2", [r"select E'a\';b'", "select 2"]),
        (r"select 'a\'; select 2", [r"select 'a\'", "select 2"]),
        (r"select name'a\'; select 2", [r"select name'a\'", "select 2"]),
        ('select ";""x;" from "a;b"; select 2', ['select ";""x;" from "a;b"', "select 2"]),
        ("do $$ begin null; end $$; select 2", ["do $$ begin null; end $$", "select 2"]),
        ("do $a$ select $$;$$; $b$ ; $a$; select 2", ["do $a$ select $$;$$; $b$ ; $a$", "select 2"]),
        ("do $$ -- it's ' \n null; $$; select 2", ["do $$ -- it's ' \n null; $$", "select 2"]),
        ("select a$b$c; select d$b$e", ["select a$b$c", "select d$b$e"]),
        ("prepare p as select $1, $2; select 2", ["prepare p as select $1, $2", "select 2"]),
        ("create rule r as on insert to t do (select 1; select 2); select 3",
         ["create rule r as on insert to t do (select 1; select 2)", "select 3"]),
        ("select 'begin atomic', $$begin atomic$$", ["select 'begin atomic', $$begin atomic$$"]),
        ("select '--no comment', '/* nor this'; select 2", ["select '--no comment', '/* nor this'", "select 2"]),
        ("select 'é;ü'; select größe from \"ä;\"", ["select 'é;ü'", "select größe from \"ä;\""]),
    ],
)  # fmt: skip
def test_a_script_is_split_at_the_ends_of_statements_alone(script: str, statements: list[str]) -> None:
    assert split_statements(script) == statements


@pytest.mark.parametrize(
    ("script", "fault"),
    [
        ("select 'a; select 2", "a string that begins at character 8 does not end"),
        ('select "a; select 2', "a quoted name that begins at character 8 does not end"),
        ("do $x$ null; $y$;", "a dollar quote that begins at character 4 does not end"),
        ("select 1 /* a /* b */", "a comment that begins at character 10 does not end"),
        ("create function f() returns int begin atomic select 1; end", "a function's body must be quoted"),
    ],
)
def test_what_can_not_be_split_safely_is_refused(script: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        split_statements(script)


@pytest.mark.parametrize("name", EVERY)
def test_every_migration_of_the_package_can_be_split(name: str) -> None:
    script = EVERY[name]

    assert split_statements(";\n".join(split_statements(script))) == split_statements(script)
