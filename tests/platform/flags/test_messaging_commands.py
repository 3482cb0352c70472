"""messaging …: outgoing messages are stopped and resumed from the terminal."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from openslot.cli.commands import app
from openslot.domains.doctor.database import look_at_database
from openslot.domains.doctor.finding import FindingState
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from openslot.wiring import WIRING


@pytest.fixture(autouse=True)
def _here(settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", settings.database_url or "")
    monkeypatch.setenv("OPENSLOT_DATA_DIR", str(settings.data_dir))


async def messaging(*arguments: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, app, ["messaging", *arguments])


async def read(*arguments: str) -> dict[str, Any]:
    result = await messaging(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return {each["channel"]: each for each in json.loads(result.stdout)["channels"]}


async def test_messages_are_stopped_and_resumed(runtime: Runtime) -> None:
    found = await read("stop", "--reason", "wrong texts")
    assert [channel for channel, each in found.items() if each["stopped"]] == ["sms", "whatsapp", "voice"]
    assert (found["sms"]["by"], found["sms"]["reason"], found["sms"]["waiting"]) == ("terminal", "wrong texts", 0)

    assert (await read("stop", "--channel", "email", "--reason", "a loop"))["email"]["stopped"] is True
    assert "a loop" in (await messaging("status")).output
    await read("resume", "--reason", "mended")
    found = await read("status")
    assert [channel for channel, each in found.items() if each["stopped"]] == ["email"]


async def test_a_reason_is_needed_and_the_channel_must_be_known(runtime: Runtime) -> None:
    for act in ("stop", "resume"):
        assert "--reason" in (await messaging(act)).output
        assert (await messaging(act, "--reason", " ")).exit_code != 0
        assert (await messaging(act, "--reason", "a loop", "--channel", "fax")).exit_code != 0


async def test_the_doctor_warns_while_messages_are_stopped(runtime: Runtime, settings: Settings) -> None:
    async def look() -> tuple[FindingState, str]:
        findings = await look_at_database(settings, WIRING, is_asleep=False)
        return next((each.state, each.meaning) for each in findings if each.name == "messages")

    assert (await look())[0] is FindingState.OK
    await read("stop", "--channel", "email", "--reason", "a loop")
    state, meaning = await look()
    assert state is FindingState.WARNING
    assert "email since" in meaning
    assert "by terminal (a loop), 0 waiting" in meaning
