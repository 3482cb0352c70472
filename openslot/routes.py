"""Every handler, collected from the modules that declare them."""

import pkgutil
from collections.abc import Iterator
from importlib.util import find_spec

from openslot import domains
from openslot.doors.agents.door import PATH
from openslot.doors.scim.door import PREFIX
from openslot.platform.routing import Mount, collect

# The order in which the API is described; a domain that is not named here comes last.
ORDER = ("accounts", "bookings", "payments", "contacts", "event_types", "availability", "conversations", "calls")


def _domain_modules(name: str) -> Iterator[str]:
    found = {each.name for each in pkgutil.iter_modules(domains.__path__) if each.ispkg}
    for domain in sorted(found, key=lambda each: (ORDER.index(each) if each in ORDER else len(ORDER), each)):
        if find_spec(f"openslot.domains.{domain}.{name}") is not None:
            yield f"openslot.domains.{domain}.{name}"


NOTICES = Mount(
    prefix="",
    handlers=collect(
        "openslot.vendors.stripe.notice_api",
        "openslot.vendors.twilio.notice_api",
        "openslot.vendors.gateway.notice_api",
        "openslot.vendors.calendar_notices",
    ),
)
API = (
    Mount(prefix="/api/v1", handlers=collect(*_domain_modules("api"))),
    Mount(prefix="/api/public", handlers=collect(*_domain_modules("public_api"))),
)
PAGES = Mount(prefix="", handlers=collect("openslot.doors.web"))
SCIM = Mount(prefix=PREFIX, handlers=collect("openslot.doors.scim"))
PUBLIC_TOOLS = Mount(prefix="", handlers=collect("openslot.doors.public_tools"))
ASSISTANTS = Mount(prefix="", handlers=collect("openslot.doors.assistants", "openslot.doors.oauth"))
AGENTS = Mount(prefix=PATH, handlers=collect("openslot.doors.agents"))
