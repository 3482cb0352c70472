"""Attacks with the addresses that programs are sent back to: nobody is sent to one that is not the program's own."""

import string

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openslot.doors.oauth.rules import is_document_address, may_return_to, parse_redirect
from tests.doors.assistants.support import REDIRECT, ask, register
from tests.support.page import read_page

TRICKS = (
    # Another place that begins or ends like the right one
    f"{REDIRECT}/",
    f"{REDIRECT}?next=https://evil.example",
    f"{REDIRECT}#fragment",
    f"{REDIRECT}/../evil",
    f"{REDIRECT}%2f..%2fevil",
    "https://assistant.example/Callback",
    "https://assistant.example/callback/x",
    "https://assistant.example:444/callback",
    "https://assistant.example.evil.example/callback",
    "https://evil.example/callback",
    "https://sub.assistant.example/callback",
    "http://assistant.example/callback",
    # A user, a backslash, or signs that readers take differently
    "https://assistant.example@evil.example/callback",
    "https://assistant.example:x@evil.example/callback",
    "https://evil.example\\@assistant.example/callback",
    "https://evil.example\\.assistant.example/callback",
    "https:\\\\assistant.example/callback",
    "https:/assistant.example/callback",
    "https:assistant.example/callback",
    "//assistant.example/callback",
    "https://assistant.example%2eevil.example/callback",
    "https://assistant.example%00.evil.example/callback",
    "https://assistant.example\t/callback",
    "https://assistant.example/callback\r\nLocation: https://evil.example",
    " https://assistant.example/callback",
    "https://аssistant.example/callback",
    "HTTPS://assistant.example/callback",
    # Other schemes
    "javascript:alert(1)//https://assistant.example/callback",
    "data:text/html,<script>alert(1)</script>",
    "assistant://callback",
    "cursor://callback",
    "com.example.assistant:/callback",
    "",
)
REGISTERED_TRICKS = (
    "http://assistant.example/callback",
    "http://127.0.0.1.evil.example/callback",
    "http://127.0.0.2/callback",
    "http://localhost.evil.example/callback",
    "http://localhost@evil.example/callback",
    "http://[::2]/callback",
    "http://0.0.0.0/callback",
    "http://2130706433/callback",
    "http://127.0.0.1:0/callback",
    "http://127.0.0.1:65536/callback",
    "https://user:password@assistant.example/callback",
    "https://assistant.example/callback#fragment",
    "https://assistant.example\\evil/callback",
    "https://*.assistant.example/callback",
    "javascript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "https://",
    # Schemes to which browsers or systems give a meaning, and programs that are not known
    "JavaScript:alert(1)",
    "javascript://assistant.example/%0aalert(1)",
    "javascript:/callback",
    "vbscript:/callback",
    "data:/callback",
    "blob:/callback",
    "blob:https://assistant.example/x",
    "about:/blank",
    "file:/callback",
    "filesystem:/callback",
    "view-source:/callback",
    "chrome:/callback",
    "ftp://assistant.example/callback",
    "ws://assistant.example/callback",
    "wss://assistant.example/callback",
    "mailto:/callback",
    "tel:/callback",
    "intent://callback",
    "ms-settings:/callback",
    "search-ms:/callback",
    "assistant:/callback",
    "assistant://callback",
    # Of known programs, but not as they are written
    "cursor:",
    "cursor://",
    "cursor:callback",
    "CURSOR://callback",
    " cursor://callback",
    "cursor://call\\back",
    "cursor://user@callback/x",
    "cursor://callback/x#fragment",
    "cursor://callback/x\r\nLocation: https://evil.example",
    "cursor:////evil.example",
    "cursor://callback/<script>",
    "com.example.app:",
    "com.example.app:callback",
    "com..app:/callback",
    ".com:/callback",
    "com.:/callback",
    "com.exämple:/callback",
    "com.example.app:/%zz",
    "com.example.app:/" + "a" * 2000,
    "https://" + "a" * 2000 + ".example/",
)


@pytest.mark.parametrize("uri", TRICKS)
async def test_nobody_is_sent_to_an_address_that_is_not_the_programs_own(member: httpx2.AsyncClient, uri: str) -> None:
    shown = await member.get(ask(await register(member), redirect_uri=uri))

    assert shown.status_code == 400
    assert "location" not in shown.headers
    assert "evil.example" not in shown.text
    assert shown.headers["x-error-code"] == "invalid_redirect_uri"


@pytest.mark.parametrize("uri", REGISTERED_TRICKS)
async def test_no_program_registers_an_address_that_is_not_safe(client: httpx2.AsyncClient, uri: str) -> None:
    answer = await client.post("/oauth/register", json={"redirect_uris": [REDIRECT, uri]})

    assert answer.status_code == 400
    assert answer.json()["error"] == "invalid_redirect_uri"


def test_the_address_of_an_installed_program_is_compared_as_it_is() -> None:
    own = ("cursor://anysphere.cursor-mcp/oauth/callback",)

    assert may_return_to(own, own[0])
    for uri in (
        "cursor://anysphere.cursor-mcp/oauth/callback/",
        "cursor://anysphere.cursor-mcp:80/oauth/callback",
        "cursor://evil/oauth/callback",
        "cursor:/oauth/callback",
        "vscode://anysphere.cursor-mcp/oauth/callback",
        "com.cursor://anysphere.cursor-mcp/oauth/callback",
    ):
        assert not may_return_to(own, uri), uri


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost"])
def test_a_program_on_this_computer_listens_on_any_port(host: str) -> None:
    own = (f"http://{host}/callback",)

    assert may_return_to(own, f"http://{host}:43117/callback")
    assert may_return_to((f"http://{host}:1/callback",), f"http://{host}:43117/callback")
    for other in {"127.0.0.1", "[::1]", "localhost"} - {host}:
        assert not may_return_to(own, f"http://{other}:43117/callback")
    for uri in (
        f"http://{host}:43117/callback/",
        f"http://{host}:43117/other",
        f"https://{host}:43117/callback",
        f"http://{host}:43117/callback?x=1",
        f"http://{host}:99999/callback",
        f"http://{host}.evil.example:80/callback",
        f"http://{host}:80@evil.example/callback",
    ):
        assert not may_return_to(own, uri), uri
    assert not may_return_to((REDIRECT,), "https://assistant.example:8443/callback")


@given(st.text(max_size=200))
def test_whatever_is_sent_as_an_address_is_read_or_refused(text: str) -> None:
    for uri in (text, f"https://{text}", f"http://localhost{text}", f"https://a.example/{text}", f"cursor://{text}"):
        parsed = parse_redirect(uri)
        is_document_address(uri)
        if parsed is not None:
            assert set(uri) <= set(string.printable) - set(string.whitespace + "\\#<>\"'`{}|^") | {"'"}
            assert parsed.is_loopback or parsed.is_private or uri.startswith("https://")


@pytest.mark.parametrize("query", ["client_id=%ff", "client_id=%", "client_id=é", "&" * 200, "client_id=" + "x" * 4000])
async def test_a_malformed_address_is_refused(member: httpx2.AsyncClient, query: str) -> None:
    shown = await member.get(f"/oauth/authorize?{query}")

    assert shown.status_code == 400
    assert "The assistant was not connected" in read_page(shown).text
