"""Open the runtime: everything a process has one of, from its settings."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from openslot.doors.agents.budget import check_budgets
from openslot.platform.core.config import Settings
from openslot.platform.core.db import open_pool
from openslot.platform.core.errors import StartupError
from openslot.platform.core.ids import Signer
from openslot.platform.core.outbound import Outbound, Resolver
from openslot.platform.core.ports import NO_FAKES, open_ports
from openslot.platform.core.profiles import JOBS, ConnectionProfile
from openslot.platform.core.reading import StandbyReader, make_standby_pool
from openslot.platform.core.sealing import is_sealed, load_data_keys
from openslot.platform.core.secrets import Cipher, load_secrets
from openslot.platform.core.turns import Turns
from openslot.platform.core.work import Clock, Runtime, Wiring, system_clock
from openslot.wiring import PORTS, WIRING


@asynccontextmanager
async def open_runtime(
    settings: Settings,
    *,
    wiring: Wiring = WIRING,
    clock: Clock = system_clock,
    profile: ConnectionProfile = JOBS,
    fakes: Mapping[type, object] = NO_FAKES,
) -> AsyncIterator[Runtime]:
    """Connect to a migrated database, open what answers each port, and close everything in the end."""
    if settings.database_url is None:
        raise StartupError("DATABASE_URL is not set, and no embedded database is running.")
    check_budgets(settings)
    pool = await open_pool(
        settings.database_url,
        max_=settings.database_connections,
        profile=profile,
        through_pooler=settings.database_pooler,
    )
    standby = None
    if settings.read_database_url is not None:
        other = make_standby_pool(settings.read_database_url, max_=settings.database_connections, profile=profile)
        standby = StandbyReader(pool, other)
    try:
        secrets = load_secrets(settings.secret_key, settings.data_dir, is_first=not await is_sealed(pool))
        data_keys = await load_data_keys(pool, secrets, now=clock())
        async with open_ports(PORTS, settings, fakes=fakes) as ports:
            outbound = Outbound(allow=settings.outbound_allow, resolver=ports.get(Resolver))
            try:
                yield Runtime(
                    settings=settings,
                    pool=pool,
                    wiring=wiring,
                    secrets=secrets,
                    signer=Signer(data_keys),
                    cipher=Cipher(data_keys),
                    clock=clock,
                    outbound=outbound,
                    turns=Turns(max_=settings.database_connections // 2, wait_seconds=profile.lock),
                    ports=ports,
                    standby=standby,
                )
            finally:
                await outbound.close()
    finally:
        if standby is not None:
            await standby.close()
        await pool.close()
