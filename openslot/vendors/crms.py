"""Every kind of CRM that can be connected: a new one is its own file, and a line here."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from openslot.domains.crm.ports import CrmVendor
from openslot.platform.core.config import Settings
from openslot.vendors.crm_webhook import WebhookVendor
from openslot.vendors.hubspot.vendor import HubSpotVendor

VENDORS: tuple[CrmVendor, ...] = (HubSpotVendor(), WebhookVendor())


class KnownVendors:
    """Implements the port `CrmVendors`."""

    def __init__(self, *vendors: CrmVendor) -> None:
        self._vendors = {vendor.name: vendor for vendor in vendors}

    def get(self, name: str) -> CrmVendor:
        return self._vendors[name]

    def list_all(self) -> tuple[CrmVendor, ...]:
        return tuple(self._vendors.values())


@asynccontextmanager
async def open_crm_vendors(_: Settings) -> AsyncIterator[KnownVendors]:
    yield KnownVendors(*VENDORS)
