"""A text in Markdown becomes a few plain elements, and nothing that runs or pretends to be something else."""

import time
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openslot.platform.core.markdown import find_fault, find_target, render
from tests.support.parts import how_many

TAGS = {"p", "br", "strong", "em", "a", "ul", "ol", "li", "h2", "h3", "bdi"}
ATTRIBUTES = {"href", "rel", "target", "dir", "start"}

SHOWN = {
    "Hello\nSecond line\n\nNext": '<p dir="auto">Hello<br>Second line</p><p dir="auto">Next</p>',
    "**bold** *italic* __so__ _too_": '<p dir="auto"><strong>bold</strong> <em>italic</em> <strong>so</strong> '
    "<em>too</em></p>",
    "- a\n- b\n  - c": '<ul dir="auto"><li>a</li><li>b<ul dir="auto"><li>c</li></ul></li></ul>',
    "3. a\n4. b": '<ol dir="auto" start="3"><li>a</li><li>b</li></ol>',
    "# One\n## Two\n#### Four": '<h2 dir="auto">One</h2><h3 dir="auto">Two</h3><h3 dir="auto">Four</h3>',
    "### Three\n##### Five": '<h2 dir="auto">Three</h2><h3 dir="auto">Five</h3>',
    r"5 \* 3 &amp; <b>x</b>": '<p dir="auto">5 * 3 &amp; &lt;b&gt;x&lt;/b&gt;</p>',
    "> quote\n\n    code\n\n---\n\n`x` ~~y~~ | a |": '<p dir="auto">&gt; quote</p><p dir="auto">code</p>'
    '<p dir="auto">---</p><p dir="auto">`x` ~~y~~ | a |</p>',
    "": "",
}


@pytest.mark.parametrize("text", SHOWN)
def test_the_subset_is_shown_and_the_rest_stays_text(text: str) -> None:
    assert str(render(text)) == SHOWN[text]


def test_a_link_says_where_it_leads() -> None:
    start = '<p dir="auto"><a href="https://a.example/x?y=1&amp;z=%22" rel="nofollow noopener" target="_blank">'
    assert render('[my site](https://a.example/x?y=1&z=%22 "a title")') == (
        f'{start}my site</a> <bdi dir="ltr">(a.example)</bdi></p>'
    )
    assert '</a> <bdi dir="ltr">(evil.example)</bdi>' in render("[https://bank.example](https://evil.example)")
    assert '</a> <bdi dir="ltr">(mara@a.example)</bdi>' in render("[write](mailto:mara@a.example)")
    for same in ("<https://a.example/x>", "<mara@a.example>", "[a.example](https://a.example/x)"):
        assert "<a href=" in render(same), same
        assert "<bdi" not in render(same), same


def test_of_new_accounts_only_addresses_are_links_and_no_words() -> None:
    def show(text: str) -> str:
        return str(render(text, shows_addresses=True))

    start = '<a href="https://evil.example/login" rel="nofollow noopener" target="_blank"><bdi dir="ltr">'
    link = f"{start}https://evil.example/login</bdi></a>"
    assert show("[**Your** bank](https://evil.example/login) now") == (
        f'<p dir="auto"><strong>Your</strong> bank {link} now</p>'
    )
    shown = show("[https://bank.example](https://evil.example/login)")
    assert shown == f'<p dir="auto">https://bank.example {link}</p>'
    for same in ("<https://evil.example/login>", "[evil.example/login](https://evil.example/login)"):
        assert show(same) == f'<p dir="auto">{link}</p>'
    assert '">mara@a.example</bdi></a>' in show("[write](mailto:mara@a.example)")
    assert show("**a** b") == '<p dir="auto"><strong>a</strong> b</p>'
    assert show("a\n[]()") == str(render("a\n[]()"))


LINKS = {
    "https://a.example": "a.example",
    "https://a.example:8443/x#y": "a.example",
    "https://xn--exmple-cua.example": "xn--exmple-cua.example",
    "mailto:mara@a.example": "mara@a.example",
    "http://a.example": None,
    "HTTPS://a.example": None,
    "//a.example": None,
    "/login": None,
    "javascript:alert(1)": None,
    "data:text/html,x": None,
    "vbscript:x": None,
    "tel:+491": None,
    "https://a.example@evil.example": None,
    "https://a.example:x@evil.example": None,
    "https://evil.example\\@a.example": None,
    "https://%61.example": None,
    "https://localhost": None,
    "https://10.0.0.1": None,
    "https://a.example\u202e/x": None,
    "https://\u0430.example": None,
    "https://a.example/ x": None,
    "https://a.example\n.evil.example": None,
    "mailto:mara@a.example?subject=x": None,
    "mailto:mara@a.example,eve@a.example": None,
    "mailto:%6dara@a.example": None,
    "mailto:": None,
    "": None,
}


@pytest.mark.parametrize("link", LINKS)
def test_only_https_and_one_address_of_mail_are_links(link: str) -> None:
    assert find_target(link) == LINKS[link]


TRICKS = [
    "[x](javascript:alert`1`)",
    "[x](&#106;avascript:alert`1`)",
    "[x](java&Tab;script:alert`1`)",
    "[x](&#x6a;&#x61;&#x76;&#x61;script&colon;x)",
    "[x](<javascript:x>)",
    "[x](JaVaScRiPt:x)",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "<javascript:x>",
    "<data:text/html,x>",
    "[x](//evil.example)",
    "[x](\\\\evil.example)",
    "[x](/logout)",
    "[x](#top)",
    "[x](https://bank.example@evil.example)",
    "[x]()",
    "[x]( )",
    "[x](<>)",
    "a [**b**]() c",
]


@pytest.mark.parametrize("text", TRICKS)
def test_another_link_is_refused_when_it_is_saved_and_is_text_when_it_is_shown(text: str) -> None:
    assert "<a" not in render(text)
    assert "https:// or mailto:" in (find_fault(text) or "")


def test_a_link_without_a_target_is_shown_as_it_was_typed_and_named() -> None:
    assert str(render("a [**b**]() c")) == '<p dir="auto">a [<strong>b</strong>]() c</p>'
    assert str(find_fault("[x]()")).endswith(", not ()")


def test_what_is_no_link_is_no_fault() -> None:
    for text in ("a [b] (c)", "f(x)[0]", "[x] [y]", "[x](https://a.example) <mara@a.example>", "1 < 2 > 0", "x" * 2000):
        assert find_fault(text) is None, text


def test_marks_that_turn_the_direction_are_left_out() -> None:
    assert render("a\u202eb [x\u2066y](https://a.example)") == (
        '<p dir="auto">ab <a href="https://a.example" rel="nofollow noopener" target="_blank">xy</a>'
        ' <bdi dir="ltr">(a.example)</bdi></p>'
    )


class Elements(HTMLParser):
    """Collect elements and attributes, and see that all are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        assert {name for name, _ in attrs} <= ATTRIBUTES, attrs
        values = dict(attrs)
        if tag == "a":
            assert find_target(values["href"] or ""), values
            assert values["rel"] == "nofollow noopener", values
            assert "a" not in self.open
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


PIECES = st.sampled_from(
    [
        *(
            "[",
            "](",
            ")",
            "https://a.example",
            "javascript:",
            "<",
            ">",
            "script",
            "&#106;",
            "&lt;",
            '"',
            "'",
            "*",
            "**",
        ),
        *("_", "# ", "- ", "1. ", "\n", "\n\n", "    ", "  ", "\\", "!", "`", "\u202e", "\x00", "onload=x", "a", "אב"),
        "mailto:",
    ]
)


@settings(max_examples=how_many(500), deadline=None)
@given(st.lists(PIECES | st.text(max_size=5), max_size=40).map("".join))
def test_any_text_becomes_these_elements_alone(text: str) -> None:
    elements = Elements()
    elements.feed(str(render(text)))
    elements.close()
    assert elements.open == []


HUGE = ["*" * 2000, "[" * 2000, "- " * 1000, "[x](" * 500, "<https://a" * 200, "**a " * 500, "> " * 1000, "1. " * 666]


@pytest.mark.parametrize("text", HUGE, ids=lambda text: text[:6])
def test_the_longest_text_takes_no_time_however_it_is_nested(text: str) -> None:
    begun = time.perf_counter()
    elements = Elements()
    elements.feed(str(render(text)))
    find_fault(text)
    assert elements.open == []
    assert time.perf_counter() - begun < 2
