"""Codes by mail that prove an address: six digits, for 15 minutes, for one use, and with few wrong tries."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from openslot.domains.access.limits.operations import take_from_bucket
from openslot.domains.access.models import EmailCode
from openslot.domains.access.resets import store
from openslot.domains.allowances.models import Cost
from openslot.domains.allowances.operations import causes_of, find_account, spend, spend_on_page
from openslot.domains.allowances.rules import find_network
from openslot.platform.core.actor import PUBLIC
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime, Work

LASTS = timedelta(minutes=15)
MAX_TRIES = 5
"""How many wrong tries the network has that asked for a code, and how many all others have together."""
HOUR = timedelta(hours=1)
MAX_IN_AN_HOUR = 3
"""How many codes one network can have sent to an address for an event type."""
MAX_TO_RECIPIENT = 12
"""How many codes an address is sent in an hour, whoever asks for whichever event type."""
PAUSE = timedelta(seconds=30)
"""How long no other code is sent for the same address, event type and network."""
MAX_FROM_ADDRESS = 10
"""How many codes one network address can ask for in any minute."""
DIGITS = 6
SEND_CODE = "mail.email_code"
PURPOSE, DERIVED, NETWORK = "email code", "email code of id", "email code asked by"


class CodePlan(Struct, frozen=True):
    code_id: UUID


def code_of(runtime: Runtime, code_id: UUID) -> str:
    """Derive the code from the installation's key, so that only its hash is stored."""
    number = int.from_bytes(runtime.signer.sign(DERIVED, code_id.bytes)[:8])
    return f"{number % 10**DIGITS:0{DIGITS}}"


def read_code(text: str) -> str | None:
    """Read a code in any digits, with or without spaces; None if it can't be one."""
    digits = "".join(text.split())
    return f"{int(digits):0{DIGITS}}" if len(digits) == DIGITS and digits.isdecimal() else None


async def send_code(
    runtime: Runtime, event_type_id: UUID, email: str, *, host_id: UUID, locale: str | None, from_address: str
) -> timedelta | None:
    """Plan the mail with a new code, or return after how long one can be sent because enough were.

    It costs whoever asks and the host: a page is no way to mail codes to strangers without end, and that of a host for
    whom nobody vouches mails few.
    """
    (await take_from_bucket(runtime.pool, f"code:{from_address}", MAX_FROM_ADDRESS)).check()

    asked_by = name_asker(runtime, from_address)

    async def plan(work: Work) -> timedelta | None:
        sent = await store.list_sent(work.db, email, event_type_id, asked_by, since=work.now - HOUR)
        if wait := find_wait([at for at, is_alike in sent if is_alike], [at for at, _ in sent], now=work.now):
            return wait
        host = await find_account(work, host_id)
        causes = (*await causes_of(work, email=email), *((host,) if host else ()))
        await spend(work, Cost.CODE, causes, host_id=host_id)
        await spend_on_page(work, host_id)
        code = EmailCode(
            id=new_id(), event_type_id=event_type_id, email=email, locale=locale, expires_at=work.now + LASTS
        )
        hashed = runtime.signer.sign(PURPOSE, _write(code, code_of(runtime, code.id)))
        await store.insert_code(work.db, code, hashed=hashed, asked_by=asked_by, now=work.now)
        await work.plan(SEND_CODE, str(code.id), due_at=work.now, payload=CodePlan(code.id))
        return None

    return await runtime.run(PUBLIC, plan)


def name_asker(runtime: Runtime, from_address: str) -> bytes:
    """Name the network that an address is in without telling it, or the address itself if it is in none."""
    return runtime.signer.sign(NETWORK, (find_network(from_address) or from_address).encode())


def find_wait(alike: Sequence[datetime], all_: Sequence[datetime], *, now: datetime) -> timedelta | None:
    """Return how long no code is sent, by when codes were sent within an hour, newest first; None if one may be.

    Those that are `alike` were for the same event type and network.
    """
    free_at = [alike[0] + PAUSE] if alike else []
    for sent, most in ((alike, MAX_IN_AN_HOUR), (all_, MAX_TO_RECIPIENT)):
        free_at += [sent[most - 1] + HOUR] if len(sent) >= most else []
    return max((at - now for at in free_at if at > now), default=None)


async def try_code(
    runtime: Runtime, event_type_id: UUID, email: str, entered: str, *, from_address: str
) -> UUID | None:
    """Return which code was entered; a wrong one counts for each that could have been meant, before it is answered.

    Guesses of other networks are counted apart, so that strangers can't use up the tries of who asked for a code. No
    transaction may be open: what is counted stays, whatever is refused afterwards.
    """
    given = read_code(entered)
    if given is None:
        return None

    asked_by = name_asker(runtime, from_address)

    async def compare(work: Work) -> UUID | None:
        codes = await store.lock_codes(work.db, event_type_id, email, asked_by, now=work.now, max_tries=MAX_TRIES)
        right = [code.id for code, hashed in codes if runtime.signer.is_signed(PURPOSE, _write(code, given), hashed)]
        if not right:
            await store.count_wrong_try(work.db, [code.id for code, _ in codes], asked_by)
        return right[0] if right else None

    return await runtime.run(PUBLIC, compare)


async def use_code(work: Work, code_id: UUID, event_type_id: UUID, email: str) -> bool:
    """Use a code up that was entered rightly; False if somebody else has, or it has expired."""
    return await store.use_code(work.db, code_id, event_type_id, email, now=work.now)


async def find_code(work: Work, code_id: UUID) -> EmailCode | None:
    """Find a code that can still be used."""
    return await store.find_code(work.db, code_id, now=work.now)


def _write(code: EmailCode, given: str) -> bytes:
    return code.id.bytes + given.encode()
