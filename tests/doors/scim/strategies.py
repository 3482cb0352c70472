"""Random users, filters and ways to say the same change."""

from typing import Any

from hypothesis import strategies as st

from openslot.doors.scim.attributes import CORE, ENTERPRISE
from openslot.doors.scim.filters import And, AttributePath, Comparison, Filter, Not, Or, Present, ValuePath

TEXT = st.text(alphabet="abcXYZ 0.9@\"'%_\\ü", min_size=1, max_size=8).filter(str.strip)
EMAIL = st.builds(
    lambda name, host: f"{name}@{host}.example",
    st.text(alphabet="abcM.", min_size=1, max_size=6).filter(lambda s: s.strip(".") == s and ".." not in s),
    st.sampled_from(["harbor", "Harbor", "okafor"]),
)
TYPES = st.sampled_from(["work", "home", "other"])


def _values(value: st.SearchStrategy[str]) -> st.SearchStrategy[list[dict[str, Any]]]:
    element = st.fixed_dictionaries({"value": value, "type": TYPES}, optional={"display": TEXT})
    return st.lists(element, min_size=1, max_size=3, unique_by=lambda each: each["type"])


NAME = st.dictionaries(st.sampled_from(["givenName", "familyName", "formatted"]), TEXT, min_size=1)
EXTENSION = st.dictionaries(st.sampled_from(["department", "division", "costCenter"]), TEXT, min_size=1)

USERS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"userName": EMAIL, "active": st.booleans()},
    optional={
        "externalId": TEXT,
        "displayName": TEXT,
        "title": TEXT,
        "timezone": TEXT,
        "name": NAME,
        "emails": _values(EMAIL),
        "phoneNumbers": _values(TEXT),
        ENTERPRISE: EXTENSION,
    },
)

PATHS = st.builds(
    AttributePath,
    st.just(CORE),
    st.sampled_from(["userName", "externalId", "emails", "displayName", "id", "active", "title"]),
    st.sampled_from([None, "value", "type"]),
)
VALUES = st.one_of(TEXT, st.booleans(), st.none(), st.integers(-1000, 1000), st.just(1.5))
COMPARISONS = st.builds(
    Comparison, PATHS, st.sampled_from(["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"]), VALUES
)
FILTERS: st.SearchStrategy[Filter] = st.recursive(
    st.one_of(COMPARISONS, st.builds(Present, PATHS)),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda each: And(tuple(each))),
        st.lists(inner, min_size=2, max_size=3).map(lambda each: Or(tuple(each))),
        inner.map(Not),
        st.builds(ValuePath, st.just(AttributePath(CORE, "emails")), inner),
    ),
    max_leaves=8,
)

# What can be asked about users.
FRAGMENTS = st.sampled_from(["a", "AB", "abc", "@", "HARBOR", "name 1", "x.9", "1", "'%_", "ü", "0.bc@harbor.example"])
SEARCHED = st.one_of(TEXT, EMAIL, FRAGMENTS, FRAGMENTS)
SUPPORTED_TERMS: st.SearchStrategy[Filter] = st.one_of(
    st.builds(
        Comparison,
        st.builds(AttributePath, st.just(CORE), st.sampled_from(["userName", "USERNAME", "externalId", "displayName"])),
        st.sampled_from(["eq", "co", "sw"]),
        SEARCHED,
    ),
    st.builds(
        Comparison, st.just(AttributePath(CORE, "emails", "value")), st.sampled_from(["eq", "co", "sw"]), SEARCHED
    ),
    st.builds(Comparison, st.just(AttributePath(CORE, "active")), st.just("eq"), st.booleans()),
    st.builds(
        lambda kind, operator, value: ValuePath(
            AttributePath(CORE, "emails"),
            And(
                (
                    Comparison(AttributePath(CORE, "type"), "eq", kind),
                    Comparison(AttributePath(CORE, "value"), operator, value),
                )
            ),
        ),
        TYPES,
        st.sampled_from(["eq", "co", "sw"]),
        SEARCHED,
    ),
)
SUPPORTED: st.SearchStrategy[Filter] = st.one_of(
    SUPPORTED_TERMS, st.lists(SUPPORTED_TERMS, min_size=2, max_size=3).map(lambda each: And(tuple(each)))
)
