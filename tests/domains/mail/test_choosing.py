"""Mail goes to the mailer that is wired, and to the embedded mailbox where there is none or the mail is a demo's."""

from msgspec.structs import replace

from openslot.domains.mail.operations import Mailbox, choose_mailer
from openslot.domains.mail.ports import Mailer
from openslot.platform.core.actor import DEMO, SYSTEM
from openslot.platform.core.config import Settings
from openslot.platform.core.smtp import SmtpUrl
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from openslot.vendors.smtp import SmtpMailer
from tests.domains.mail.fake_mailer import FakeMailer


async def test_the_server_of_the_settings_is_used_but_not_for_demo_mail(settings: Settings) -> None:
    chosen = replace(settings, smtp_url=SmtpUrl.parse("smtp://mail.example"))
    async with open_runtime(chosen) as runtime:
        assert isinstance(choose_mailer(runtime, SYSTEM), SmtpMailer)
        assert isinstance(choose_mailer(runtime, DEMO), Mailbox)


async def test_without_a_server_mail_stays_in_the_mailbox(runtime: Runtime) -> None:
    assert runtime.ports.find(Mailer) is None
    assert isinstance(choose_mailer(runtime, SYSTEM), Mailbox)


async def test_a_fake_takes_the_servers_place(settings: Settings) -> None:
    fake = FakeMailer()
    async with open_runtime(settings, fakes={Mailer: fake}) as runtime:
        assert choose_mailer(runtime, SYSTEM) is fake
        assert isinstance(choose_mailer(runtime, DEMO), Mailbox)
