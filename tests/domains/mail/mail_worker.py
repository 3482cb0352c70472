"""A worker process whose mail goes to a server on loopback."""

from msgspec.structs import replace

from openslot.platform.core.config import Settings
from openslot.platform.core.smtp import MailFrom, SmtpUrl
from tests.support.worker_process import work


def run(url: str, data_dir: str, port: str) -> None:
    """Work until a signal comes."""

    def choose(settings: Settings) -> Settings:
        return replace(
            settings,
            smtp_url=SmtpUrl.parse(f"smtp://127.0.0.1:{port}?starttls=never"),
            mail_from=MailFrom.parse("bookings@here.example"),
        )

    work(url, data_dir, choose)
