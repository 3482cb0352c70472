"""Codes by mail that prove an address: six digits, for 15 minutes, for one use, and with five wrong tries at most."""

from datetime import timedelta
from uuid import UUID

from msgspec import Struct

from openslot.access import limits
from openslot.access import reset_store as store
from openslot.access.models import EmailCode
from openslot.core.actor import PUBLIC
from openslot.core.ids import new_id
from openslot.core.work import Runtime, Work

LASTS = timedelta(minutes=15)
MAX_TRIES = 5
MAX_IN_AN_HOUR = 3
PAUSE = timedelta(seconds=30)
"""How long an address is sent no other code."""
MAX_FROM_ADDRESS = 10
"""How many codes one network address can ask for in any minute."""
DIGITS = 6
SEND_CODE = "mail.email_code"
PURPOSE, DERIVED = "email code", "email code of id"


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
    runtime: Runtime, event_type_id: UUID, email: str, *, locale: str | None, from_address: str
) -> None:
    """Plan the mail with a new code, unless its recipient was sent enough: whoever asks is not told which."""
    (await limits.take(runtime.pool, f"code:{from_address}", MAX_FROM_ADDRESS)).check()

    async def plan(work: Work) -> None:
        in_an_hour, is_recent = await store.count_codes(work.db, email, now=work.now, pause=PAUSE)
        if in_an_hour >= MAX_IN_AN_HOUR or is_recent:
            return
        code = EmailCode(
            id=new_id(), event_type_id=event_type_id, email=email, locale=locale, expires_at=work.now + LASTS
        )
        hashed = runtime.signer.sign(PURPOSE, _write(code, code_of(runtime, code.id)))
        await store.insert_code(work.db, code, hashed=hashed, now=work.now)
        await work.plan(SEND_CODE, str(code.id), due_at=work.now, payload=CodePlan(code.id))

    await runtime.run(PUBLIC, plan)


async def try_code(runtime: Runtime, event_type_id: UUID, email: str, entered: str) -> UUID | None:
    """Return which code was entered; a wrong one counts for each that could have been meant, before it is answered.

    No transaction may be open: what is counted stays, whatever is refused afterwards.
    """
    given = read_code(entered)
    if given is None:
        return None

    async def compare(work: Work) -> UUID | None:
        codes = await store.lock_codes(work.db, event_type_id, email, now=work.now, max_tries=MAX_TRIES)
        right = [code.id for code, hashed in codes if runtime.signer.is_signed(PURPOSE, _write(code, given), hashed)]
        if not right:
            await store.count_wrong_try(work.db, [code.id for code, _ in codes])
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
