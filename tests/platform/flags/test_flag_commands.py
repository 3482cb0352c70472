"""flag …: features are switched from the terminal."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from openslot.cli.commands import app
from openslot.domains.accounts.models import User
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime


async def test_a_feature_is_switched_for_everyone_and_for_one_user(
    runtime: Runtime, user: User, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", settings.database_url or "")
    monkeypatch.setenv("OPENSLOT_DATA_DIR", str(settings.data_dir))

    async def flag(*arguments: str) -> Any:
        result = await asyncio.to_thread(CliRunner().invoke, app, ["flag", *arguments, "--json"])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    assert [each["key"] for each in (await flag("list"))["flags"]] == [
        row["key"] for row in await runtime.pool.fetch("select key from flags order by key")
    ]
    assert (await flag("off", "booking_holds"))["flags"][0]["enabled"] is False
    own = await flag("on", "booking_holds", "--user", user.email)
    assert own == {"key": "booking_holds", "user": user.email, "enabled": True, "override": True}
    assert await runtime.pool.fetchval("select enabled from flags where key = 'booking_holds'") is False
    assert await runtime.pool.fetchval("select enabled from flag_overrides where user_id = $1", user.id) is True
    reset = await flag("reset", "booking_holds", "--user", user.email)
    assert (reset["enabled"], reset["override"]) == (False, False)
    by = await runtime.pool.fetch(
        "select type, actor ->> 'kind' as by from events where type like 'flag.%' order by no"
    )
    assert [tuple(row.values()) for row in by] == [
        ("flag.toggled", "operator"),
        ("flag.override_set", "operator"),
        ("flag.override_removed", "operator"),
    ]
