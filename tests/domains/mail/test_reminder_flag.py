"""Reminders can be switched off; every other mail is sent."""

from datetime import timedelta

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from openslot.platform.flags.models import FlagKey
from tests.domains.mail.conftest import TEN, Book, mails, work_off
from tests.support.clocks import MovingClock
from tests.support.flags import SWITCHED, switch


@SWITCHED
async def test_reminders_are_sent_only_if_they_are_on(
    runtime: Runtime, clock: MovingClock, user: User, book: Book, everyone: bool, own: bool | None, works: bool
) -> None:
    await switch(runtime, FlagKey.MAIL_REMINDERS, user, everyone=everyone, own=own)
    await book(TEN + timedelta(days=2))
    await work_off(runtime, clock)
    clock.pass_time(days=1, hours=3)
    await work_off(runtime, clock)

    sent = [each.kind.value for each in await mails(runtime, "jonas@okafor.example")]
    assert sent == (["confirmation", "reminder"] if works else ["confirmation"])
    state = await runtime.pool.fetchrow(
        "select state, last_error from effects where reaction = 'mail.remind' order by next_try_at limit 1"
    )
    assert state is not None
    assert (state["state"], state["last_error"]) == (("done", None) if works else ("skipped", "mail.switched_off"))
