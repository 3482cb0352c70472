"""A number that can't be used any more is told its owner by mail, or each administrator, once and in their language."""

import pytest

from openslot.domains.accounts.models import Organization, User
from openslot.domains.messaging.connections.models import MessagingConnection
from openslot.domains.messaging.connections.operations import check_connection
from openslot.domains.messaging.connections.store import get
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from openslot.platform.i18n.languages import ENGLISH, LANGUAGES, Language
from openslot.platform.i18n.localization import get_catalog
from tests.domains.mail.conftest import messages, part
from tests.domains.messaging.pages.conftest import NUMBER
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.fake_twilio import FakeAccount
from tests.support.messaging import insert_number

SUBJECT = "Openslot can't use your number for messages"
FOREIGN = [language for language in LANGUAGES.values() if language is not ENGLISH]


async def check(runtime: Runtime, number: MessagingConnection) -> None:
    """Ask the provider as the hourly job does."""
    await check_connection(runtime.work(OPERATOR), await get(runtime.pool, number.id))


async def test_the_owner_gets_one_mail_that_leads_to_the_number(
    runtime: Runtime, clock: MovingClock, user: User, account: FakeAccount, number: MessagingConnection
) -> None:
    account.token = "d" * 32
    for _ in range(2):
        await check(runtime, number)
        await work_off(runtime, clock)

    (mail,) = await messages(runtime, user.email)
    assert mail["Subject"] == SUBJECT
    text = part(mail, "text/plain")
    for said in (NUMBER, "The provider refuses the account or its token", f"/settings/messages/{number.id}"):
        assert said in text
    assert account.token not in mail.as_string()


async def test_administrators_of_an_organization_are_led_to_its_number(
    runtime: Runtime, clock: MovingClock, user: User, harbor: Organization, account: FakeAccount
) -> None:
    number = await insert_number(runtime, organization_id=harbor.id, account=account.sid, token="d" * 32)
    await check(runtime, number)
    await work_off(runtime, clock)

    (mail,) = await messages(runtime, user.email)
    assert f"/organization/messages/{number.id}" in part(mail, "text/plain")


@pytest.mark.parametrize("language", FOREIGN, ids=lambda language: language.tag)
async def test_the_mail_is_in_its_readers_language(
    runtime: Runtime,
    clock: MovingClock,
    user: User,
    account: FakeAccount,
    number: MessagingConnection,
    language: Language,
) -> None:
    await runtime.pool.execute("update users set locale = $1", language.tag)
    account.token = "d" * 32
    await check(runtime, number)
    await work_off(runtime, clock)

    (mail,) = await messages(runtime, user.email)
    translated = get_catalog(language).gettext
    assert mail["Subject"] == translated(SUBJECT) != SUBJECT
    assert translated("The provider refuses the account or its token") in part(mail, "text/plain")
