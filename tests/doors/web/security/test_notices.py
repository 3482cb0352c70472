"""The mails about the second factor: on, off, a recovery code used, new codes; in the user's language."""

import pytest

from openslot.domains.access.two_factor import operations as two_factor
from openslot.domains.accounts.models import User
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.mail.conftest import messages, part
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.passwords import PASSWORD
from tests.support.two_factor import forget_steps, in_session, turn_on


async def test_each_change_is_told_by_mail(runtime: Runtime, clock: MovingClock, host: User) -> None:
    phone = await turn_on(runtime, host)
    work = in_session(runtime, host)
    await two_factor.renew_recovery_codes(work, host, password=PASSWORD, code=phone.code(runtime))
    await forget_steps(runtime)
    codes = await two_factor.renew_recovery_codes(work, host, password=PASSWORD, code=phone.code(runtime))
    await two_factor.turn_off_two_factor(work, host, password=PASSWORD, code=codes[0])
    await work_off(runtime, clock)
    mails = await messages(runtime, host.email)

    assert {str(message["From"]) for message in mails} == {"Openslot <openslot@localhost>"}
    assert sorted(message["Subject"] for message in mails) == [
        "A recovery code was used",
        "Two-factor authentication is off",
        "Two-factor authentication is on",
        "You have new recovery codes",
        "You have new recovery codes",
    ]
    for message in mails:
        text = part(message, "text/plain")
        assert "If this wasn't you, change your password now" in text
        assert not any(secret in text for secret in (phone.secret, *codes, *phone.recovery_codes))
    (used,) = (message for message in mails if message["Subject"] == "A recovery code was used")
    assert "You have 9 recovery codes left" in part(used, "text/plain")


@pytest.mark.parametrize(
    ("locale", "words"), [("en", "Your administrator has turned"), ("de", "Zwei-Faktor-Authentisierung")]
)
async def test_an_operators_reset_is_told_in_the_users_language(
    runtime: Runtime, clock: MovingClock, host: User, locale: str, words: str
) -> None:
    await runtime.pool.execute("update users set locale = $2 where id = $1", host.id, locale)
    await turn_on(runtime, host)
    await work_off(runtime, clock)
    async with runtime.transaction(OPERATOR) as work:
        await two_factor.drop_two_factor(work, host)
    await work_off(runtime, clock)

    assert words in part((await messages(runtime, host.email))[-1], "text/plain")
