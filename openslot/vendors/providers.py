"""The message providers of an installation, by name."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from openslot.domains.messaging.models import ProviderName
from openslot.domains.messaging.ports import MessageProvider
from openslot.platform.core.config import Settings
from openslot.vendors.gateway.account import Gateway
from openslot.vendors.twilio.account import Twilio


class Providers:
    """Implements the port `MessageProviders`."""

    def __init__(self, *providers: MessageProvider) -> None:
        self._providers = {provider.name: provider for provider in providers}

    def get(self, name: ProviderName) -> MessageProvider:
        return self._providers[name]


@asynccontextmanager
async def open_providers(settings: Settings) -> AsyncIterator[Providers]:
    yield Providers(Twilio(settings.twilio_url), Gateway())
