"""What the walk over all pages calls markup."""

import pytest

from tests.support.hostile_text import CORPUS, WHOLE, find_markup

HARMLESS = (
    '<p title="&#39;&#34;&gt; onload=x()">javascript:x() onload=x()</p>',
    '<a href="/x?q=javascript:x()">onclick=x()</a>',
    '<script src="/static/app.js"></script><script type="application/ld+json">{"name": "x()"}</script>',
    "<!doctype html><title>1 < 2</title><input value='onload=x()' required>",
)
HARMFUL = (
    "<p>{text}</p>",
    '<p title="{text}">',
    "<p title='{text}'>",
    "<p title={text}>",
    "<textarea>{text}</textarea>",
    "<script>const name = '{text}'</script>",
)
HARM = (
    "<p onclick=x()>",
    "<p title=x onload=x()>",
    '<p title="a" ONLOAD="x()">',
    "<p title=&#39;&gt; onload=x()>",
    '<a href="javascript:x()">',
    "<a href=' JavaScript:x()'>",
    "<a href=&#106;avascript:x()>",
    '<form action="javascript:x()">',
    '<button formaction="javascript:x()">',
    '<img src="javascript:x()">',
    "<script>x()</script>",
    '<script src="https://evil.example/x.js"></script>',
    '<script type="application/ld+json">["x"]</script>',
    "<xss-probe>",
)


@pytest.mark.parametrize("html", HARMLESS)
def test_text_is_no_markup(html: str) -> None:
    assert find_markup(html) is None


@pytest.mark.parametrize("text", [WHOLE, *CORPUS])
@pytest.mark.parametrize("html", HARMFUL)
def test_what_is_not_escaped_is_found(html: str, text: str) -> None:
    assert find_markup(html.replace("{text}", text)) is not None


@pytest.mark.parametrize("html", HARM)
def test_what_loads_or_runs_is_found(html: str) -> None:
    assert find_markup(html) is not None


def test_the_whole_text_holds_all_of_them() -> None:
    assert all(text in WHOLE for text in CORPUS)
    assert WHOLE.startswith("javascript:")
