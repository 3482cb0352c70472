"""Every handler, collected from the modules that declare them."""

import pkgutil
from collections.abc import Iterator
from importlib.util import find_spec

import openslot
from openslot.agents.door import PATH
from openslot.routing import Mount, collect
from openslot.scim.door import PREFIX

# The order in which the API is described; a domain that is not named here comes last.
ORDER = ("accounts", "bookings", "payments", "contacts", "event_types", "availability", "conversations", "calls")
WITH_OWN_DOOR = frozenset({"agents", "assistants", "public_tools", "scim", "web"})


def _domain_modules(name: str) -> Iterator[str]:
    domains = {each.name for each in pkgutil.iter_modules(openslot.__path__) if each.ispkg} - WITH_OWN_DOOR
    for domain in sorted(domains, key=lambda each: (ORDER.index(each) if each in ORDER else len(ORDER), each)):
        if find_spec(f"openslot.{domain}.{name}") is not None:
            yield f"openslot.{domain}.{name}"


NOTICES = Mount(
    prefix="",
    handlers=collect(
        "openslot.integrations.stripe.notice_api",
        "openslot.integrations.twilio.notice_api",
        "openslot.integrations.gateway.notice_api",
        "openslot.integrations.calendars.notice_api",
    ),
)
API = (
    Mount(prefix="/api/v1", handlers=collect(*_domain_modules("api"))),
    Mount(prefix="/api/public", handlers=collect(*_domain_modules("public_api"))),
)
PAGES = Mount(prefix="", handlers=collect("openslot.web"))
SCIM = Mount(prefix=PREFIX, handlers=collect("openslot.scim"))
PUBLIC_TOOLS = Mount(prefix="", handlers=collect("openslot.public_tools"))
ASSISTANTS = Mount(prefix="", handlers=collect("openslot.assistants"))
AGENTS = Mount(prefix=PATH, handlers=collect("openslot.agents"))
