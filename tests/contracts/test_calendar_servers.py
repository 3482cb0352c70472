"""Every adapter of the calendar port, and its fake, keep the same contract."""

from collections.abc import AsyncIterator, Iterator
from ipaddress import ip_network

import pytest

from openslot.core.outbound import Outbound
from openslot.integrations.calendars.caldav import CalDavServer
from openslot.integrations.calendars.models import Credentials
from tests.contracts.calendar_servers import CalendarServerContract
from tests.support.fake_calendars import FakeServer
from tests.support.radicale import PASSWORD, USER, Radicale, radicale_in, without_sync

LOOPBACK = (ip_network("127.0.0.0/8"),)


@pytest.fixture(scope="module")
def radicale(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Radicale]:
    """Run a real server."""
    with radicale_in(tmp_path_factory.mktemp("radicale")) as server:
        yield server


class TestFake(CalendarServerContract):
    """The fake."""

    @pytest.fixture
    async def server(self) -> FakeServer:
        """Give an account."""
        return FakeServer()

    @pytest.fixture
    async def place(self, server: FakeServer) -> str:
        """Give an empty calendar."""
        return server.add_calendar("Work")


class TestCalDav(CalendarServerContract):
    """CalDAV with sync tokens."""

    @pytest.fixture
    async def server(self, radicale: Radicale) -> AsyncIterator[CalDavServer]:
        """Give an account."""
        server = CalDavServer(
            Outbound(allow=LOOPBACK), Credentials(url=f"{radicale.url}/{USER}/", username=USER, password=PASSWORD)
        )
        yield server
        await server.close()

    @pytest.fixture
    async def place(self, server: CalDavServer, radicale: Radicale) -> str:
        """Give an empty calendar."""
        return await radicale.add_calendar()


class TestCalDavWithoutSync(CalendarServerContract):
    """CalDAV by tags and ETags."""

    @pytest.fixture
    async def server(self, radicale: Radicale) -> AsyncIterator[CalDavServer]:
        """Give an account of a server that knows no sync report."""
        async with without_sync(radicale) as url:
            server = CalDavServer(
                Outbound(allow=LOOPBACK), Credentials(url=f"{url}/{USER}/", username=USER, password=PASSWORD)
            )
            self.url = url
            yield server
            await server.close()

    @pytest.fixture
    async def place(self, server: CalDavServer, radicale: Radicale) -> str:
        """Give an empty calendar."""
        return (await radicale.add_calendar()).replace(radicale.url, self.url)
