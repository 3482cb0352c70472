"""secret …: a key is rotated and retired under a running service, and a lost one has a way out."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest
from standardwebhooks import Webhook

from openslot.platform.core.embedded import find_server
from openslot.platform.core.sealing import CLOSED
from openslot.platform.core.secrets import KEY_FILE, Secrets, read_key_file
from openslot.wiring import SEALED
from tests.cli.support import sentence
from tests.support.installation import Installation, ended, interrupt
from tests.support.receiver import Receiver, receiving
from tests.support.wait import until

NEW = "n" * 48
BYTES = """
select table_name, column_name from information_schema.columns
where table_schema = 'public' and data_type = 'bytea'"""


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """Open a receiver that takes everything."""
    async with receiving() as opened:
        yield opened


UNSENT = "select exists (select from effects where reaction = 'webhooks.dispatch' and state <> 'done')"


class Operator:
    """Someone at the terminal of a running service, who also looks at it from outside."""

    def __init__(self, home: Installation, seeded: dict[str, Any], receiver: Receiver) -> None:
        self._home, self._receiver = home, receiver
        self._headers = {"Authorization": f"Bearer {seeded['apiKey']}"}

    async def told(self, *arguments: str) -> Any:
        """Run a command for its JSON, in a process of its own."""
        return await asyncio.to_thread(self._home.told, *arguments)

    async def told_about_webhooks(self, *arguments: str) -> Any:
        """Run a command of `webhook` for its JSON."""
        return await asyncio.to_thread(self._home.told_here, "webhook", *arguments)

    async def add_webhook(self) -> tuple[str, str]:
        """Add an endpoint, and keep its secret."""
        url = self._receiver.url
        made = await self.told_about_webhooks("add", "--user", "mara@harbor.example", "--url", url)
        return made["webhook"]["id"], made["secret"]

    async def check_signatures(self, **secrets: str) -> None:
        """Let the worker sign a test for each endpoint, and verify it."""
        self._receiver.got.clear()
        for endpoint in secrets:
            await self.told_about_webhooks("test", endpoint)
        await until(lambda: len(self._receiver.got) == len(secrets), within=60)
        for got in self._receiver.got:
            secret = secrets[got.json["data"]["webhookId"]]
            assert Webhook(secret).verify(got.body.decode(), got.headers) == got.json

    def links(self) -> list[str]:
        """Read the manage links of a page of bookings."""
        answer = self._home.get("/api/v1/bookings", **self._headers)
        return [booking["manageUrl"].rpartition("/")[2] for booking in answer.json()["data"]]

    def opens(self, token: str) -> bool:
        """Follow a manage link."""
        return self._home.get(f"/api/public/manage/{token}").status_code == 200


async def opened_by(url: str | None, key: str) -> set[str]:
    """Name every column of the database with something in it that a key opens alone."""
    alone, opened = Secrets((key,)), set()
    connection = await asyncpg.connect(url)
    for table, column in await connection.fetch(BYTES):
        for (value,) in await connection.fetch(f"select {column} from {table} where {column} is not null"):
            if alone.opens(value):
                opened.add(f"{table}.{column}")
    await connection.close()
    return opened


async def until_all_is_sent(url: str | None) -> None:
    """Wait until the worker has told the endpoints of all that happened, so that a new one hears nothing of it."""
    connection = await asyncpg.connect(url)
    async with asyncio.timeout(60):
        while await connection.fetchval(UNSENT):
            await asyncio.sleep(0.05)
    await connection.close()


@pytest.mark.rest("starts and stops services: one test in make test does")
async def test_a_key_is_rotated_and_retired_while_the_service_runs(
    home: Installation, seeded: dict[str, Any], receiver: Receiver
) -> None:
    home.environment["OPENSLOT_OUTBOUND_ALLOW"] = "127.0.0.0/8"
    operator, path = Operator(home, seeded, receiver), home.data_dir / KEY_FILE
    (old,) = read_key_file(path)
    serve = home.start("serve")
    await asyncio.to_thread(home.wait_until_ready)
    url, links = find_server(home.data_dir), operator.links()
    await until_all_is_sent(url)
    early, first_secret = await operator.add_webhook()
    assert await opened_by(url, old) == {"data_keys.sealed", "webhook_endpoints.secret"}

    assert (await operator.told("secret", "rotate"))["keys"] == 2
    late, late_secret = await operator.add_webhook()
    second_secret = (await operator.told_about_webhooks("rotate", early))["secret"]
    await operator.check_signatures(**{early: first_secret, late: late_secret})
    assert operator.links() == links

    assert await operator.told("secret", "retire") == {"resealed": 5, "retired": 1}
    (new,) = read_key_file(path)
    assert new != old
    assert await opened_by(url, old) == set()
    webhooks = {str(column) for column in SEALED if column.table == "webhook_endpoints"}
    assert await opened_by(url, new) == {*webhooks, "data_keys.sealed"}
    await operator.check_signatures(**{early: second_secret, late: late_secret})
    await operator.check_signatures(**{early: first_secret})
    assert operator.links() == links
    assert all(operator.opens(token) for token in links)
    assert not operator.opens(links[0][::-1])

    interrupt(serve)
    assert (await asyncio.to_thread(ended, serve))[::2] == (0, "")
    kept = [file for file in home.data_dir.rglob("*") if file.is_file() and old.encode() in file.read_bytes()]
    assert kept == []
    home.start("serve")
    await asyncio.to_thread(home.wait_until_ready)
    assert operator.links() == links


@pytest.mark.rest("starts and stops services: one test in make test does")
def test_keys_in_the_setting_are_retired_by_hand(home: Installation) -> None:
    (old,) = read_key_file(home.data_dir / KEY_FILE)
    home.environment["OPENSLOT_SECRET_KEY"] = f"{NEW},{old}"
    code, out, err = home.run("secret", "retire")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == (
        "Remove 1 old key from OPENSLOT_SECRET_KEY, all but the first, on every machine, and restart."
    )
    home.environment["OPENSLOT_SECRET_KEY"] = NEW
    assert home.told("secret", "retire") == {"resealed": 0, "retired": 0}
    home.environment["OPENSLOT_SECRET_KEY"] = old
    assert sentence(home, "user", "list") == CLOSED


@pytest.mark.rest("starts and stops services: one test in make test does")
def test_a_key_that_is_lost_stops_every_start_until_it_is_given_up(home: Installation) -> None:
    (home.data_dir / KEY_FILE).unlink()
    for command in ("web", "worker", "user list", "serve", "backup create"):
        assert sentence(home, *command.split()).startswith("The secret key is missing: there is no ")
    assert not (home.data_dir / KEY_FILE).exists()
    assert sentence(home, "secret", "reset").startswith("This is for a secret key that is lost: every manage link")
    assert home.told("secret", "reset", "--yes") == {"reset": True}
    assert home.told("secret", "reset", "--yes") == {"reset": False}
    assert home.told("user", "list")["total"] == 3


@pytest.mark.rest("starts and stops services: one test in make test does")
def test_where_nothing_was_ever_started_there_is_nothing_to_look_after(empty: Installation) -> None:
    nothing = f"There is no secret key in {empty.data_dir} yet; the first start creates one."
    assert [sentence(empty, "secret", each) for each in ("rotate", "retire")] == [nothing] * 2
    assert sentence(empty, "secret", "reset", "--yes") == "The database is empty. Run `openslot migrate` first."
