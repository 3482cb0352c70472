"""The official SDK's OAuth client does the whole flow against a running server, and the host answers in a browser."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.doors.assistants.calls.operations import TOOLS
from openslot.platform.core.work import Clock, Runtime
from tests.doors.assistants.support import decide, read_return
from tests.support.clocks import real_clock
from tests.support.host import open_session
from tests.support.live import connect

if TYPE_CHECKING:
    from mcp.client.client import Client

CALLBACK = "http://localhost:3118/callback"


@pytest.fixture
def clock(real_clock: Clock) -> Clock:
    """The SDK looks at the real one."""
    return real_clock


__all__ = ["real_clock"]


class Storage:
    """What the program keeps."""

    def __init__(self) -> None:
        self.tokens: Any = None
        self.client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


class HostsBrowser:
    """Opens the address that the program shows, and sends the program what comes back."""

    def __init__(self, browser: httpx2.AsyncClient) -> None:
        self.browser = browser
        self.allow: list[list[str] | None] = []
        """What is allowed each time; None: all of it."""
        self.asked: list[str] = []
        self.back: dict[str, str] = {}
        self.auth: Any = None
        """What the program does to be let in."""

    async def open(self, url: str) -> None:
        parts = urlsplit(url)
        self.asked.append(url)
        allow = self.allow.pop(0) if self.allow else None
        answer = await decide(self.browser, f"{parts.path}?{parts.query}", allow=allow)
        assert answer.headers["location"].startswith(CALLBACK)
        self.back = read_return(answer)

    async def come_back(self) -> Any:
        from mcp.shared.auth import AuthorizationCodeResult

        return AuthorizationCodeResult(**self.back)


@asynccontextmanager
async def sdk_client(url: str, person: HostsBrowser, storage: Storage) -> AsyncIterator["Client"]:
    # Importing it takes a second: only the process that runs these tests should.
    from mcp.client.auth import OAuthClientProvider
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared.auth import OAuthClientMetadata

    described = OAuthClientMetadata.model_validate(
        {
            "client_name": "SDK",
            "redirect_uris": [CALLBACK],
            "grant_types": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_method": "none",
        }
    )
    person.auth = auth = OAuthClientProvider(f"{url}/mcp", described, storage, person.open, person.come_back)
    async with (
        httpx2.AsyncClient(auth=auth, timeout=60) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        yield client


@pytest.fixture
async def person(installation: str, runtime: Runtime, user: User) -> AsyncIterator[HostsBrowser]:
    """The host, signed in."""
    async with connect(installation, timeout=60) as browser:
        browser.headers.update(await open_session(runtime, user))
        yield HostsBrowser(browser)


@pytest.mark.rest("talks to an official client")
async def test_the_sdk_connects_lists_bookings_and_refreshes(installation: str, person: HostsBrowser) -> None:
    storage = Storage()
    async with sdk_client(installation, person, storage) as client:
        listed = await client.list_tools()
        found = await client.call_tool("list_event_types")
        assert client.protocol_version == "2026-07-28"
        first = storage.tokens
        person.auth.context.token_expiry_time = 1
        again = await client.call_tool("list_bookings")

    assert again.is_error is False
    assert storage.tokens.refresh_token != first.refresh_token
    assert len(person.asked) == 1
    assert len(listed.tools) == len(TOOLS)
    assert found.structured_content is not None
    assert [each["slug"] for each in found.structured_content["data"]] == ["30min"]
    assert first.scope == "bookings:read contacts:read event_types:read offline_access"


@pytest.mark.rest("talks to an official client")
async def test_the_sdk_asks_again_for_more(installation: str, person: HostsBrowser) -> None:
    person.allow = [["bookings:read"]]
    async with sdk_client(installation, person, Storage()) as client:
        assert (await client.call_tool("list_bookings")).is_error is False
        contacts = await client.call_tool("list_contacts")

    assert contacts.is_error is False
    assert len(person.asked) == 2
    assert "contacts%3Aread" in person.asked[1]


@pytest.mark.rest("talks to an official client")
async def test_the_sdk_is_not_fooled_by_another_issuer(installation: str, person: HostsBrowser) -> None:
    opened = person.open

    async def open_elsewhere(url: str) -> None:
        await opened(url)
        person.back["iss"] = "https://evil.example"

    person.open = open_elsewhere  # type: ignore[method-assign]
    with pytest.raises(Exception) as refused:  # noqa: PT011 - the SDK wraps it in a group
        async with sdk_client(installation, person, Storage()) as client:
            await client.list_tools()

    assert "iss mismatch" in str(walk(refused.value))


def walk(fault: BaseException) -> list[str]:
    """List what a group of exceptions is about."""
    inner = fault.exceptions if isinstance(fault, BaseExceptionGroup) else ()
    return [repr(fault), *(each for one in inner for each in walk(one))]
