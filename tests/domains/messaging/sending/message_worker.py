"""A worker process whose messages go to a provider on loopback, and which looks for lost ones soon."""

from datetime import timedelta

from msgspec.structs import replace

from openslot.domains.messaging import sending
from openslot.platform.core.config import Networks, Settings
from tests.support.worker_process import work


def run(url: str, data_dir: str, twilio_url: str) -> None:
    """Work until a signal comes."""
    sending.LOOKED_FOR, sending.LOOK_AGAIN_AFTER = timedelta(seconds=10), timedelta(seconds=2)

    def choose(settings: Settings) -> Settings:
        return replace(settings, twilio_url=twilio_url, outbound_allow=Networks.parse("127.0.0.0/8"))

    work(url, data_dir, choose)
