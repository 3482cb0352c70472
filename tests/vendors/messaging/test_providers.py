"""The providers of an installation are found by name, and Twilio is where the setting says."""

from ipaddress import ip_network

import pytest

from openslot.domains.messaging.connections.models import ConnectionChannel
from openslot.domains.messaging.models import MessageCredentials, NumberState, ProviderName
from openslot.platform.core.environment import load_settings
from openslot.platform.core.errors import StartupError
from openslot.platform.core.outbound import Outbound
from openslot.vendors.providers import open_providers
from tests.support.clocks import MovingClock
from tests.support.fake_twilio import serving
from tests.vendors.messaging.support import NUMBER


async def test_twilio_is_asked_where_the_setting_says(clock: MovingClock) -> None:
    outbound = Outbound(allow=(ip_network("127.0.0.0/8"),))
    async with (
        serving(clock) as fake,
        open_providers(load_settings(environ={"OPENSLOT_TWILIO_URL": f"{fake.url}/"})) as found,
    ):
        books = fake.add_account()
        credentials = MessageCredentials(account=books.sid, token=books.token)
        account = found.get(ProviderName.TWILIO).open(outbound, credentials)
        assert (await account.check(channel=ConnectionChannel.SMS, number=NUMBER)).number is NumberState.READY
        await account.close()
        assert {name: found.get(name).name for name in ProviderName} == {name: name for name in ProviderName}
    await outbound.close()


@pytest.mark.parametrize("url", ["api.twilio.com", "https://user:pass@proxy.example", "https://proxy.example/?x=1"])
def test_an_address_that_can_not_be_twilios_stops_the_start(url: str) -> None:
    with pytest.raises(StartupError, match="OPENSLOT_TWILIO_URL"):
        load_settings(environ={"OPENSLOT_TWILIO_URL": url})
