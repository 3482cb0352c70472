"""The message providers of an installation, by name."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from openslot.core.config import Settings
from openslot.integrations.gateway.account import Gateway
from openslot.integrations.twilio.account import Twilio
from openslot.messaging.models import ProviderName
from openslot.messaging.ports import MessageProvider


class Providers:
    """Implements the port `MessageProviders`."""

    def __init__(self, *providers: MessageProvider) -> None:
        self._providers = {provider.name: provider for provider in providers}

    def get(self, name: ProviderName) -> MessageProvider:
        return self._providers[name]


@asynccontextmanager
async def open_providers(settings: Settings) -> AsyncIterator[Providers]:
    yield Providers(Twilio(settings.twilio_url), Gateway())
