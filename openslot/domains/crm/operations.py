"""The verbs of connected CRMs, the only writers of their tables."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.crm import store
from openslot.domains.crm.errors import CrmNotFound, TooManyCrms
from openslot.domains.crm.events import CrmBroken, CrmConnected, CrmDisconnected
from openslot.domains.crm.models import ConnectedCrm, CrmConnection, CrmFailure, CrmWanted
from openslot.domains.crm.ports import (
    Crm,
    CrmAccount,
    CrmAccountRefused,
    CrmCredentials,
    CrmFault,
    CrmTokenRefused,
    CrmVendor,
    CrmVendors,
)
from openslot.domains.crm.rules import MAX_CONNECTIONS
from openslot.domains.crm.words import EMPTY, NOT_CHECKED, SECRET_REFUSED, TOKEN_REFUSED, UNKNOWN_VENDOR, describe_fault
from openslot.platform.core import failing
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.effects import hurry
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import new_id
from openslot.platform.core.revivals import revive_effects
from openslot.platform.core.sealing import seal
from openslot.platform.core.work import Runtime, Work
from openslot.platform.i18n import keep

SHOWN_FOR = timedelta(days=14)
MAX_SHOWN = 10
LONGEST_SECRET = 500


def list_vendors(runtime: Runtime) -> tuple[CrmVendor, ...]:
    """List the kinds of CRM that can be connected."""
    return runtime.ports.get(CrmVendors).list_all()


async def connect(work: Work, owner: User, wanted: CrmWanted) -> ConnectedCrm:
    """Connect a CRM, or connect the same account again with another secret.

    The CRM is contacted before a transaction is opened here, so the work must begin without one.
    """
    vendor = _find_vendor(work.runtime, wanted.vendor)
    new_secret = vendor.make_secret() if vendor.secret is None else None
    credentials = _read(vendor, wanted, new_secret)
    # Whoever gets a secret of ours can't know it yet: a test says later whether all is well.
    found = await _check(work, owner, vendor, credentials, asks=new_secret is None)
    async with work.transaction():
        await store.lock_owner(work.db, owner.id)
        known = await store.list_of_owner(work.db, owner.id)
        is_known = (vendor.name, found.account) in {(each.vendor, each.account) for each in known}
        if not is_known and len(known) >= MAX_CONNECTIONS:
            raise TooManyCrms(MAX_CONNECTIONS)
        connection = CrmConnection(
            id=new_id(),
            owner_id=owner.id,
            vendor=vendor.name,
            account=found.account,
            label=found.label,
            secret=await seal(work, credentials.secret),
            connected_at=work.now,
            used_at=work.now if new_secret is None else None,
        )
        connection = await store.upsert(work.db, connection)
        await work.record(CrmConnected(**tell(connection)))
    await _resume(work, connection)
    return ConnectedCrm(connection=connection, new_secret=new_secret)


async def list_connections(work: Work, owner: User | None) -> list[CrmConnection]:
    """List the CRMs of a user, or of everyone, oldest first."""
    return await store.list_of_owner(work.db, owner.id) if owner else await store.list_all(work.db)


async def get_crm_connection(work: Work, owner: User | None, connection_id: UUID) -> CrmConnection:
    """Read a connection of a user; without an owner, of anybody, for the operator."""
    found = await store.find(work.db, connection_id)
    if found is None or (owner is not None and found.owner_id != owner.id):
        raise CrmNotFound
    return found


async def disconnect(work: Work, owner: User | None, connection_id: UUID) -> CrmConnection:
    """Forget a CRM with its secret; people and meetings that were written there stay."""
    connection = await get_crm_connection(work, owner, connection_id)
    if not await store.delete(work.db, connection.id):
        raise CrmNotFound
    await work.record(CrmDisconnected(**tell(connection)))
    return connection


async def change_crm_options(work: Work, owner: User, connection_id: UUID, options: dict[str, Any]) -> CrmConnection:
    """Choose what the vendor's adapter reads, such as which fields are written."""
    changed = replace(await get_crm_connection(work, owner, connection_id), options=options)
    await store.update_options(work.db, changed)
    return changed


async def check_connection(work: Work, connection: CrmConnection) -> str | None:
    """Ask a CRM whether it can be used, and keep the answer; return why it can't, or None.

    The CRM is contacted here, so the work must begin without a transaction.
    """
    try:
        async with opened_crm(work.runtime, connection) as crm:
            found = await crm.check()
    except CrmFault as fault:
        await keep_failure(work, connection, fault)
        return describe_fault(fault)
    async with work.transaction():
        await store.keep_success(work.db, connection.id, now=work.now, label=found.label)
    await _resume(work, connection)
    return None


async def list_crm_failures(work: Work, owner: User) -> list[CrmFailure]:
    """List what the CRMs of a user have not taken in the last two weeks, newest first."""
    return await store.list_failures(work.db, owner.id, since=work.now - SHOWN_FOR, limit=MAX_SHOWN)


@asynccontextmanager
async def opened_crm(runtime: Runtime, connection: CrmConnection) -> AsyncIterator[Crm]:
    """Open the account of a connection, with the guarded client on behalf of its owner; no transaction may be open."""
    credentials = CrmCredentials(
        account=connection.account, secret=runtime.secrets.open(connection.secret), options=connection.options
    )
    vendor = runtime.ports.get(CrmVendors).get(connection.vendor)
    crm = vendor.open(runtime.outbound.on_behalf_of(connection.owner_id), runtime.settings, credentials)
    try:
        yield crm
    finally:
        await crm.close()


async def keep_failure(work: Work, connection: CrmConnection, fault: CrmFault) -> None:
    """Write why a CRM can't be used, and tell its owner once; opens a transaction of its own."""
    reason, is_refused = keep(describe_fault(fault)), isinstance(fault, CrmTokenRefused)
    async with work.runtime.transaction(SYSTEM) as inside:
        if is_refused and not await store.keep_refusal(inside.db, connection):
            return
        since = await failing.keep_failure(
            inside.db, "crm_connections", connection, reason, needs_owner=is_refused, now=work.now, is_live="true"
        )
        if since is not None:
            base_url = work.runtime.settings.public_url
            await inside.record(CrmBroken(**tell(connection), reason=reason, since=since, base_url=base_url))


def tell(connection: CrmConnection) -> dict[str, Any]:
    """Say what every event tells of a connection."""
    return {
        "connection_id": connection.id,
        "owner_id": connection.owner_id,
        "vendor": connection.vendor,
        "label": connection.label,
    }


def _find_vendor(runtime: Runtime, name: str) -> CrmVendor:
    vendors = {vendor.name: vendor for vendor in list_vendors(runtime)}
    if name not in vendors:
        raise Invalid(details={"vendor": UNKNOWN_VENDOR.fill(names=", ".join(vendors))})
    return vendors[name]


def _read(vendor: CrmVendor, wanted: CrmWanted, new_secret: str | None) -> CrmCredentials:
    account, secret = wanted.account.strip(), new_secret or wanted.secret.strip()
    faults = {}
    if vendor.account is not None and not account:
        faults["account"] = EMPTY
    if not secret or len(secret) > LONGEST_SECRET:
        faults["secret"] = SECRET_REFUSED if secret else EMPTY
    if faults:
        raise Invalid(details=faults)
    return CrmCredentials(account=account if vendor.account is not None else "", secret=secret)


async def _check(work: Work, owner: User, vendor: CrmVendor, credentials: CrmCredentials, *, asks: bool) -> CrmAccount:
    try:
        crm = vendor.open(work.runtime.outbound.on_behalf_of(owner.id), work.runtime.settings, credentials)
        try:
            host = urlsplit(credentials.account).hostname or credentials.account
            return await crm.check() if asks else CrmAccount(account=credentials.account, label=host)
        finally:
            await crm.close()
    except CrmAccountRefused as fault:
        raise Invalid(details={"account": fault.args[0]}) from None
    except CrmTokenRefused:
        raise Invalid(details={"secret": SECRET_REFUSED}) from None
    except CrmFault as fault:
        field = "account" if vendor.account is not None else "secret"
        raise Invalid(details={field: NOT_CHECKED.fill(reason=describe_fault(fault))}) from None


async def _resume(work: Work, connection: CrmConnection) -> None:
    """Let what waits for a CRM be tried at once, and what was given up because of its secret be tried again."""
    async with work.transaction():
        await hurry(work.db, await store.list_waiting(work.db, connection.id), now=work.now)
    # 0.1.0 has kept the sentence; it goes in the release after the next.
    dead = await store.list_dead_because(work.db, connection.id, [TOKEN_REFUSED.kept, TOKEN_REFUSED.said])
    if dead:
        await revive_effects(work, dead)
