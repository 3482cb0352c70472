"""Sends email as the gates let agents do, and reads the log of it."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from openslot.doors.agents.calls import read_arguments
from openslot.doors.agents.emails import operations as emails
from openslot.doors.agents.errors import EmailNotAllowed
from openslot.doors.agents.models import Level, ToolCall
from openslot.doors.agents.tools.email import send_email
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.config import Settings
from openslot.platform.core.ids import new_id
from openslot.platform.core.smtp import SmtpUrl
from openslot.platform.core.work import Runtime
from tests.doors.agents.spending import call_of
from tests.support.smtp_server import ScriptedServer

JONAS, ADA = "jonas@okafor.example", "admin@openslot.example"
POSTAL = "Openslot AB, Storgatan 1, 111 22 Stockholm"
LETTER = {"to": JONAS, "subject": "Your question", "text": "Dear Jonas,\n\nit works again.\nThank you."}


async def send(runtime: Runtime, call: ToolCall, category: str, **changes: object) -> Any:
    """Send as the gates do: check without a transaction, then run in one."""
    arguments = read_arguments(send_email, {"category": category, **LETTER, **changes, "confirm": True})
    assert send_email.check is not None
    await send_email.check(runtime.work(SYSTEM), call, arguments)
    return await send_now(runtime, call, arguments)


async def send_now(runtime: Runtime, call: ToolCall, arguments: Any) -> Any:
    async with runtime.transaction(SYSTEM) as work:
        return await send_email.run(work, replace(call, id=new_id()), arguments)


async def refusal(runtime: Runtime, call: ToolCall, category: str, **changes: object) -> str:
    """Tell why both the early check and the tool itself refuse an email."""
    arguments = read_arguments(send_email, {"category": category, **LETTER, **changes, "confirm": True})
    assert send_email.check is not None
    with pytest.raises(EmailNotAllowed) as early:
        await send_email.check(runtime.work(SYSTEM), call, arguments)
    with pytest.raises(EmailNotAllowed) as late:
        await send_now(runtime, call, arguments)
    assert early.value.data == late.value.data
    return str(early.value.data["cause"])


async def log(runtime: Runtime) -> list[dict[str, Any]]:
    return [
        msgspec.structs.asdict(each)
        for each in await emails.list_agent_emails(runtime.work(SYSTEM), agent=None, limit=99)
    ]


def growth() -> ToolCall:
    return call_of("growth", level=Level.L1)


def over(settings: Settings, server: ScriptedServer) -> Settings:
    return replace(settings, smtp_url=SmtpUrl.parse(f"smtp://127.0.0.1:{server.port}"))
