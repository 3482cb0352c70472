"""What forked processes find loaded: the whole of Openslot, certificates, and passwords that are cheap to hash."""

import gc
from importlib import import_module

from openslot.cli.commands import COMMANDS, GROUPS
from openslot.domains.access import passwords
from openslot.platform.core.outbound import client
from tests.support.passwords import CHEAP

for _name in ("app", "cli.child", "cli.web", "cli.work", *(f"cli.{name}" for name in (COMMANDS | GROUPS).values())):
    import_module(f"openslot.{_name}")

client._default_tls()
passwords._hasher = CHEAP
# Otherwise each fork's first collection copies every page.
gc.collect()
gc.freeze()
