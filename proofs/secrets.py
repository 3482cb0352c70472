"""Issue secrets of every kind, use each rightly and wrongly, and look for all of them in what is kept and told.

Looked through are a backup's dump, the logs of all processes at their most talkative, PostgreSQL's own log, the export
of an account, CSV files, what commands list, and every answer that refuses. Codes of six digits are left out: they are
found in every list of times by chance.
"""

import asyncio
import base64
import io
import os
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import httpx2
from msgspec import Struct

from openslot.domains.contacts import operations as contacts
from openslot.domains.contacts.schemas import ContactWanted
from openslot.domains.exports import operations as exports
from openslot.domains.exports.errors import ExportNotFound
from openslot.platform.backups.archive import DUMP, MANIFEST
from openslot.platform.backups.programs import get_newest
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.ids import new_id
from openslot.platform.core.text import EmailAddress, Name
from proofs.figures import Figure
from proofs.issuing import MANAGE, SESSION, issue_all, read_links, use, visit
from proofs.scene import Scene, scene
from tests.support.forked import Forked, openslot
from tests.support.installation import Installation, installed
from tests.support.issued import misuse
from tests.support.killable import wait_until_done
from tests.support.live import connect
from tests.support.ports import held_port
from tests.support.receiver import answering, receiving

FREE = "1000000"
WITHIN = 120.0
FEED = "/api/v1/events"
# What each command that lists something has to show.
LISTS = {
    "user list": "ida@lindqvist.example",
    "audit list": "check_budget",
    "webhook list": "/hook",
    "calendar list": "caldav",
    "mail list": "ida@lindqvist.example",
    "effect list": "webhooks.send",
    "key list --user": "proof",
    "assistant list --user": "bookings:read",
}
CSV_FILES = {"/bookings/export.csv": "Gus Okafor", "/contacts/export.csv": "Gus Okafor"}


class Place(Struct, frozen=True):
    """Something that is kept or told, and a word that must be in it: a place that is empty proves nothing."""

    name: str
    text: str
    known: str


def prove(place: Path, *, short: bool) -> list[Figure]:
    """Do it once; the short form is the same."""
    del short
    return asyncio.run(_prove(place))


async def _prove(place: Path) -> list[Figure]:
    async with scene(place) as set_up, receiving(answering(410)) as gone:
        url = set_up.settings.database_url or ""
        with installed(set_up.data_dir, DATABASE_URL=url) as home, _running(set_up, place) as port:
            async with connect(f"http://127.0.0.1:{port}") as client:
                await _wait_until_there(client)
                issued, guarded = await issue_all(set_up, hook=gone.url)
                issued |= await visit(set_up, client, issued, guarded)
                await wait_until_done(set_up.runtime, within=WITHIN)
                issued |= read_links(set_up)
                refusals = [answer for answer in await misuse(client, issued) if answer.status_code >= 400]
                issued |= await use(set_up, client, issued)
                told = await _ask(set_up, client, issued[SESSION])
            kept = await _keep(set_up, home)
            await _plant(set_up, issued["api key"])
            with_planted = await _keep(set_up, home)
        kept += _read_logs(place, set_up.data_dir)
    places = [*kept, *told, Place("refusals", "".join(f"{a.text} {a.headers}" for a in refusals), "unauthorized")]
    hits = sorted(set(_find(places, issued)))
    for name, kind in hits:
        print(f"{name:>44}  holds a secret: {kind}", flush=True)
    empty = [each.name for each in places if each.known not in each.text]
    for name in empty:
        print(f"{name:>44}  does not hold what must be there", flush=True)
    found = {name for name, _ in _find(with_planted, {"planted": issued["api key"]})}
    return [
        Figure("secrets issued", len(issued), at_least=40),
        Figure("places looked through", len(places)),
        Figure("megabytes looked through", round(sum(len(each.text) for each in places) / 1e6, 1)),
        Figure("places without what must be there", len(empty), at_most=0),
        Figure("refusals looked through", len(refusals), at_least=len(issued)),
        Figure("secrets found in the clear", len(hits), at_most=0),
        Figure("places where a planted secret was found", len(found), at_least=2),
    ]


def _find(places: list[Place], issued: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Find secrets as they are, in URLs, in hexadecimal digits and in Base64; the feed has links to bookings."""
    for kind, secret in issued.items():
        plain = secret.encode()
        spellings = {secret, quote(secret, safe=""), plain.hex(), base64.b64encode(plain).decode().rstrip("=")}
        for each in places:
            if any(spelling in each.text for spelling in spellings) and not (each.name == FEED and MANAGE in kind):
                yield each.name, kind


@contextmanager
def _running(set_up: Scene, place: Path) -> Iterator[int]:
    """Run a web process and a worker that log as much as they can, without limits."""
    limits = ("KEY", "AGENT", "ASSISTANT", "SCIM", "FAILED_AUTH", "PUBLIC")
    environment = {
        **os.environ,
        **set_up.environment,
        **{f"OPENSLOT_LIMIT_{name}": FREE for name in limits},
        "DATABASE_URL": set_up.settings.database_url or "",
        "OPENSLOT_DATA_DIR": str(set_up.data_dir),
        "OPENSLOT_OUTBOUND_ALLOW": "127.0.0.0/8",
        "OPENSLOT_SIGN_UP": "open",
        "OPENSLOT_LOG_LEVEL": "debug",
    }
    with held_port() as port:
        environment["OPENSLOT_PORT"] = str(port)
        started = [
            Forked(openslot, kind, environment=environment, out=place / f"{kind}.out", err=place / f"{kind}.err")
            for kind in ("web", "worker")
        ]
        try:
            yield port
        finally:
            for process in started:
                process.terminate()
            for process in started:
                process.wait(60)


async def _wait_until_there(client: httpx2.AsyncClient) -> None:
    async with asyncio.timeout(WITHIN):
        while True:
            with suppress(httpx2.TransportError):
                if (await client.get("/readyz")).status_code == 200:
                    return
            await asyncio.sleep(0.1)


async def _ask(set_up: Scene, client: httpx2.AsyncClient, session: str) -> list[Place]:
    """Read what a host can list and download."""
    feed = await client.get(f"{FEED}?limit=100", headers=set_up.headers)
    places = [Place(FEED, feed.text, "booking.created")]
    for path, known in CSV_FILES.items():
        answer = await client.get(path, headers={"Cookie": f"openslot_session={session}"})
        places.append(Place(path, answer.text, known))
    return places


async def _keep(set_up: Scene, home: Installation) -> list[Place]:
    """Make a backup and an export, and run the commands that list things."""
    file = set_up.data_dir / f"{new_id()}.tar"
    await asyncio.to_thread(home.told, "backup", "create", "--to", str(file))
    places = [
        Place("dump of a backup", await asyncio.to_thread(_read_dump, file), set_up.user.email),
        Place("export of an account", await _export(set_up), set_up.user.email),
    ]
    for line, known in LISTS.items():
        words = [*line.split(), *([set_up.user.email] if line.endswith("--user") else []), "--json"]
        code, out, err = await asyncio.to_thread(home.run, *words)
        assert code == 0, err
        places.append(Place(f"openslot {line}", out + err, known))
    return places


def _read_dump(file: Path) -> str:
    """Read the dump of a backup as SQL, where bytes are hexadecimal digits, and the manifest."""
    with tarfile.open(file) as packed:
        manifest, dump = (packed.extractfile(name) for name in (MANIFEST, DUMP))
        assert manifest is not None
        assert dump is not None
        command = [get_newest("pg_restore"), "--file=-"]
        script = subprocess.run(command, input=dump.read(), check=True, capture_output=True).stdout
        return manifest.read().decode() + script.decode()


async def _export(set_up: Scene) -> str:
    """Ask for everything that is kept about the host, and read all files of it."""
    runtime, user = set_up.runtime, set_up.user
    async with runtime.transaction(OPERATOR) as work:
        export_id = await exports.request_data_export(work, user)
    async with asyncio.timeout(WITHIN):
        while True:
            with suppress(ExportNotFound):
                export = await exports.get_ready_export(runtime.work(OPERATOR), user, export_id)
                break
            await asyncio.sleep(0.2)
    body = b"".join([piece async for piece in exports.read_export_file(runtime.work(OPERATOR), export)])
    with zipfile.ZipFile(io.BytesIO(body)) as packed:
        return "".join(packed.read(name).decode() for name in packed.namelist())


async def _plant(set_up: Scene, secret: str) -> None:
    """Put a secret where none belongs."""
    async with set_up.runtime.transaction(OPERATOR) as work:
        wanted = ContactWanted(name=Name(secret), email=EmailAddress("planted@haddad.example"))
        await contacts.add_contact(work, set_up.user, wanted)


def _read_logs(place: Path, data_dir: Path) -> list[Place]:
    def read(*names: str) -> str:
        return "".join((place / name).read_text("utf-8") for name in names)

    return [
        Place("log of the web process", read("web.out", "web.err"), '"route": "/api/v1/me"'),
        Place("log of the worker", read("worker.out", "worker.err"), "effect is dead"),
        Place("log of PostgreSQL", (data_dir / "postgres.log").read_text("utf-8"), "ready to accept connections"),
    ]
