"""Settings that let outgoing calls reach this machine, where the tests' receivers and calendar servers are."""

from ipaddress import ip_network

import pytest
from msgspec.structs import replace

from openslot.platform.core.config import Networks, Settings


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """The settings of an operator who allows loopback."""
    return replace(settings, outbound_allow=Networks((ip_network("127.0.0.0/8"),)))
