"""Sliding logs: never more than N accepted in any 60 seconds, on all machines; and the tries of a password."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from uuid import UUID

from msgspec import Struct

from openslot.domains.access.failures import PASSWORD, note_kept_out, note_wrong
from openslot.domains.access.limits import store
from openslot.domains.access.models import LimitVerdict, read_verdict, seconds_until
from openslot.platform.core.db import Db
from openslot.platform.core.errors import RateLimited, Refusal, Unavailable
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text


async def take_from_bucket(db: Db, bucket: str, limit: int) -> LimitVerdict:
    return read_verdict(await store.take_one(db, bucket, limit), limit)


async def take_from_buckets(db: Db, buckets: Sequence[str], limit: int) -> list[LimitVerdict]:
    """Take a place for each of these, in their order; a bucket that is named twice is asked for two."""
    wanted = {bucket: min(places, limit) for bucket, places in Counter(buckets).items()}
    rows = await store.take_some(db, wanted, limit)
    asked: Counter[str] = Counter()
    verdicts = []
    for bucket in buckets:
        asked[bucket] += 1
        verdicts.append(read_verdict(rows[bucket], limit, nth=asked[bucket]))
    return verdicts


TOO_MANY_TRIES = Text("Too many failed attempts to sign in")


class Try(Struct, frozen=True):
    """What a wrong password is counted for: an account, a device or a session, and for strangers their address too."""

    subject: str
    address: str | None = None


def by_stranger(email: str, address: str) -> Try:
    """Count for the account, together with all other strangers, and for the address."""
    return Try(f"account {email.strip()}", address=address)


def by_device(device: str) -> Try:
    """Count only for one of the owner's devices, whose tries do not depend on what strangers do."""
    return Try(f"device {device}")


def by_code(user_id: UUID, address: str, *, device: str | None) -> Try:
    """Count codes separately from passwords: a right password must not forgive wrong codes."""
    return Try(f"code {user_id}", address=address) if device is None else Try(f"code device {device}")


def by_own_code(user_id: UUID) -> Try:
    """Count the codes of people who are signed in for the account: a new session must not forgive wrong ones either."""
    return Try(f"code in session {user_id}")


def by_session(session_id: UUID | None) -> Try:
    return Try(f"session {session_id}")


@asynccontextmanager
async def counted(work: Work, one: Try) -> AsyncIterator[None]:
    """Count a try, or refuse it; if the block refuses nothing, the password was right and earlier counts are forgotten.

    It counts first, so that guessing in parallel gains nothing. The work has no transaction, so that the count stays
    whatever is refused, and nobody holds a connection while a password is checked.
    """
    verdict = await store.count_try(
        work.db, subject=one.subject, log=_log(one), limit=work.runtime.settings.limit_failed_auth
    )
    if not verdict["taken"]:
        note_kept_out(PASSWORD, one.address)
        raise RateLimited(TOO_MANY_TRIES, retry_after=seconds_until(verdict["free_at"], verdict["now"]))
    try:
        yield
    except Unavailable:
        await store.take_try_back(work.db, subject=one.subject, log=_log(one))
        raise
    except Refusal:
        note_wrong(PASSWORD)
        raise
    await store.forgive_tries(work.db, subject=one.subject, log=_log(one))


async def forgive_strangers(db: Db, email: str) -> None:
    await store.forgive_tries(db, subject=by_stranger(email, "").subject, log=None)


def _log(one: Try) -> str | None:
    return None if one.address is None else f"login:{one.address}"
