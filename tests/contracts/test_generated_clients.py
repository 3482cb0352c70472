"""The README's booking, made by clients that generators write from the API's description."""

import asyncio
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from openslot.demo.seed import seed
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.ids import SHAPE
from openslot.runtime import open_runtime
from tests.support.installers import install
from tests.support.mcp_peers import NODE
from tests.support.openapi import DESCRIPTION
from tests.support.races import web_processes

ROOT = Path(__file__).parents[2]
PLACE = Path(sys.prefix) / "api-generators"
URL = "http://127.0.0.1:8000"


def read_program(language: str) -> str:
    """Return the program of the documentation."""
    page = (ROOT / "docs/api-clients.md").read_text("utf-8")
    return page.partition(f"```{language}\n")[2].partition("```")[0]


def read_booking() -> dict[str, str]:
    """Return the body of the README's booking."""
    page = (ROOT / "README.md").read_text("utf-8")
    found = re.search(r"/api/v1/bookings .*?-d '(\{.*?\})'\n", page, re.DOTALL)
    assert found is not None
    booking: dict[str, str] = json.loads(found[1].replace("'$START'", "$START"))
    return booking


def fields_of(program: str) -> dict[str, str]:
    """Return the fields that a program sends in its body, in the API's own spelling."""
    sent = re.findall(r"^ {4,8}(\w+)(?:: |=)(.+),$", program.partition("body")[2], re.MULTILINE)
    return {re.sub(r"_(\w)", lambda match: match[1].upper(), name): value.strip('"') for name, value in sent}


async def run_program(*command: object, cwd: Path, code: int = 0) -> str:
    """Run a program until it ends with this exit code, and return what it printed."""
    path = f"{PLACE / 'python/bin'}:{os.environ['PATH']}"
    process = await asyncio.create_subprocess_exec(
        *map(str, command),
        cwd=cwd,
        env={**os.environ, "PATH": path},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed = (await process.communicate())[0].decode()
    assert process.returncode == code, printed[-6000:]
    return printed


async def write_typescript(folder: Path) -> list[object]:
    node, modules = NODE / "node", PLACE / "node_modules"
    (folder / "node_modules").symlink_to(modules)
    (folder / "package.json").write_text('{"type": "module"}')
    await run_program(node, modules / "openapi-typescript/bin/cli.js", "openapi.json", "-o", "schema.d.ts", cwd=folder)
    options = ("--strict", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler")
    await run_program(node, modules / "typescript/bin/tsc", *options, "program.typescript.ts", cwd=folder)
    return [node, "program.typescript.js"]


async def write_python(folder: Path) -> list[object]:
    options = ("--path", "openapi.json", "--meta", "none", "--output-path", "openslot_api", "--fail-on-warning")
    await run_program(PLACE / "python/bin/openapi-python-client", "generate", *options, cwd=folder)
    return [PLACE / "python/bin/python", "program.python.py"]


@pytest.mark.parametrize("language", ["typescript", "python"])
def test_the_examples_of_clients_make_the_booking_of_the_readme(language: str) -> None:
    sent, booking = fields_of(read_program(language)), read_booking()

    assert sent | {"startTime": ""} == booking | {"startTime": ""}


@pytest.mark.rest("runs other people's programs against ours")
@pytest.mark.parametrize(
    ("language", "suffix", "write"), [("typescript", "ts", write_typescript), ("python", "py", write_python)]
)
async def test_a_generated_client_compiles_and_books(
    settings: Settings, tmp_path: Path, language: str, suffix: str, write: Any
) -> None:
    installed = await asyncio.to_thread(install, "api-generators")
    assert installed.returncode == 0, installed.stdout + installed.stderr
    async with open_runtime(settings) as runtime, runtime.transaction(OPERATOR) as work:
        key = (await seed(work)).api_key
    (tmp_path / "openapi.json").write_text(json.dumps(DESCRIPTION))
    with web_processes(settings, count=1) as (url,):
        program = read_program(language).replace(URL, url).replace("svc_live_…", key)
        (tmp_path / f"program.{language}.{suffix}").write_text(program)
        command = await write(tmp_path)
        booked = await run_program(*command, cwd=tmp_path)
        refused = await run_program(*command, cwd=tmp_path, code=1)

    assert SHAPE.fullmatch(booked.strip())
    # The next free time with the same key: the header was sent, and the program reads the code.
    assert "idempotency_key_reused: This Idempotency-Key was already used with a different request" in refused
