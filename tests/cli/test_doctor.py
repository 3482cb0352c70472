"""The doctor names what is wrong, and the command that mends it."""

import fcntl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import msgspec
import pytest

from openslot.cli.doctor import examine
from openslot.domains.accounts.models import User
from openslot.domains.availability.models import ByPage
from openslot.domains.availability.operations import list_open_slots
from openslot.domains.bookings.models import BookingWanted, Invitee
from openslot.domains.bookings.operations import create_booking
from openslot.domains.doctor.database import look_at_database
from openslot.domains.doctor.finding import Finding, FindingState
from openslot.domains.doctor.machine import (
    find_unknown_variables,
    look_at_address,
    look_at_backups,
    look_at_directory,
    look_at_key,
    look_at_machine,
    look_at_mail,
    look_at_proxies,
    look_at_space,
)
from openslot.domains.mail.ports import MailDeferred
from openslot.platform.backups.archive import private_file
from openslot.platform.core.actor import PUBLIC
from openslot.platform.core.build import describe_version
from openslot.platform.core.config import Settings
from openslot.platform.core.environment import load_settings
from openslot.platform.core.ids import new_id
from openslot.platform.core.secrets import KEY_FILE, load_secrets
from openslot.platform.core.times import at_second
from openslot.platform.core.work import Runtime
from openslot.vendors.smtp import SmtpMailer, SmtpServers
from openslot.wiring import WIRING
from tests.support.founding import add_event_type, found_team

NOW = datetime(2026, 11, 15, 3, 15, tzinfo=UTC)


def chosen(tmp_path: Path, **settings: object) -> Settings:
    return load_settings({"data_dir": tmp_path, **settings}, environ={}, dotenv=tmp_path / "none")


def test_a_mistyped_variable_is_noticed_and_announced_ones_are_not(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OPENSLOT_PROT=8001\nOTHER=1\n")
    environ = {"OPENSLOT_SMTP_URL": "smtp://", "OPENSLOT_HOST": "::", "PATH": ""}
    finding = find_unknown_variables(environ, tmp_path / ".env")
    assert finding.state is FindingState.WARNING
    assert finding.meaning == "Unknown variables, which have no effect: OPENSLOT_PROT. Did you mean OPENSLOT_PORT?"
    assert finding.fix == f"Correct or remove them in {tmp_path / '.env'}: OPENSLOT_PROT"
    assert find_unknown_variables({"OPENSLOT_PROT": "1"}, tmp_path / "none").fix == "unset OPENSLOT_PROT"
    assert find_unknown_variables(environ, tmp_path / "none").state is FindingState.OK


@pytest.mark.parametrize(
    ("settings", "state"),
    [
        ({}, FindingState.OK),
        ({"host": "0.0.0.0"}, FindingState.WARNING),
        ({"host": "::1"}, FindingState.OK),
        ({"base_url": "http://book.example.com"}, FindingState.WARNING),
        ({"base_url": "http://app.localhost:8000"}, FindingState.OK),
        ({"host": "0.0.0.0", "base_url": "https://book.example.com"}, FindingState.OK),
    ],
)
def test_whatever_leaves_the_machine_wants_https(
    tmp_path: Path, settings: dict[str, object], state: FindingState
) -> None:
    assert look_at_address(chosen(tmp_path, **settings)).state is state


@pytest.mark.parametrize(
    ("proxies", "base_url", "state"),
    [
        ("", None, FindingState.OK),
        ("", "https://book.example.com", FindingState.WARNING),
        ("127.0.0.1", "https://book.example.com", FindingState.OK),
        ("8.8.8.0/24", "https://book.example.com", FindingState.WARNING),
        ("10.0.0.0/8, 0.0.0.0/0", "https://book.example.com", FindingState.PROBLEM),
        ("::/0", None, FindingState.PROBLEM),
    ],
)
def test_only_real_proxies_are_believed(
    tmp_path: Path, proxies: str, base_url: str | None, state: FindingState
) -> None:
    assert look_at_proxies(chosen(tmp_path, trusted_proxies=proxies, base_url=base_url)).state is state


def test_a_key_that_others_can_read_is_a_problem(tmp_path: Path) -> None:
    settings = chosen(tmp_path)
    assert look_at_key(settings).state is FindingState.OK
    load_secrets(None, tmp_path, is_first=True)
    assert look_at_key(settings).state is FindingState.OK
    (tmp_path / KEY_FILE).chmod(0o644)
    assert look_at_key(settings).fix == f"chmod 600 {tmp_path / KEY_FILE}"
    (tmp_path / KEY_FILE).unlink()
    missing = look_at_key(chosen(tmp_path, database_url="postgresql://x"))
    assert (missing.state, missing.fix) == (FindingState.WARNING, f"tar xf BACKUP -C {tmp_path} secret.key")
    assert look_at_key(chosen(tmp_path, secret_key="short")).state is FindingState.PROBLEM
    assert look_at_key(chosen(tmp_path, secret_key=f"{'new' * 20}, {'old' * 20}")).state is FindingState.OK


def test_the_data_directory_belongs_to_us_alone(tmp_path: Path) -> None:
    settings = chosen(tmp_path)
    assert look_at_directory(settings).state is FindingState.OK
    assert look_at_directory(chosen(tmp_path / "later")).state is FindingState.WARNING
    assert not (tmp_path / "later").exists()
    tmp_path.chmod(0o777)
    assert look_at_directory(settings).fix == f"chmod o-w {tmp_path}"
    (tmp_path / "file").touch()
    assert look_at_directory(chosen(tmp_path / "file")).state is FindingState.PROBLEM
    assert look_at_space(tmp_path / "a" / "b").meaning.endswith(f"free at {tmp_path}.")


def test_the_data_directory_is_said_with_the_service_that_runs_on_it(tmp_path: Path) -> None:
    settings = chosen(tmp_path)
    assert look_at_directory(settings).meaning == f"{tmp_path} can be written; no openslot serve runs on it."
    with (tmp_path / "postgres.owner").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert look_at_directory(settings).meaning == f"{tmp_path} can be written; openslot serve runs on it."
    with_another_database = chosen(tmp_path, database_url="postgresql://db/x")
    assert look_at_directory(with_another_database).meaning == f"{tmp_path} can be written."
    elsewhere = look_at_directory(chosen(tmp_path / "later"))
    assert elsewhere.meaning.endswith("If Openslot runs on this machine, it uses another directory.")


def test_what_others_say_does_not_end_a_sentence_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(_: SmtpMailer) -> None:
        raise MailDeferred("The mail server refuses the login: 535 Authentication failed.")

    monkeypatch.setattr(SmtpMailer, "check", refuse)
    settings = chosen(tmp_path, smtp_url="smtp://ann:pw@mail.example:587", mail_from="a@mail.example")

    assert "Authentication failed. Emails are retried" in look_at_mail(settings, SmtpServers()).meaning


def test_the_version_is_named_with_its_commit(tmp_path: Path) -> None:
    first = next(look_at_machine(chosen(tmp_path), SmtpServers()))

    assert (first.name, first.meaning) == ("version", f"Openslot {describe_version()}.")


ELSEWHERE = {"database_url": "postgresql://db.example/openslot", "secret_key": "k" * 40}


@pytest.mark.parametrize(
    ("settings", "made", "kept"),
    [
        (ELSEWHERE, None, None),
        ({**ELSEWHERE, "secret_key": None}, None, "the secret key"),
        ({**ELSEWHERE, "database_url": None}, None, "the database"),
        ({}, None, "the database, the secret key"),
        (ELSEWHERE, "postgres/PG_VERSION", "the database"),
        (ELSEWHERE, KEY_FILE, "the secret key"),
        (ELSEWHERE, "backups/openslot-1.tar", "backups"),
    ],
)
def test_where_nothing_is_kept_everyone_may_write_as_in_a_pod(
    tmp_path: Path, settings: dict[str, object], made: str | None, kept: str | None
) -> None:
    if made is not None:
        (tmp_path / made).parent.mkdir(exist_ok=True)
        (tmp_path / made).touch()
    tmp_path.chmod(0o777)

    found = look_at_directory(chosen(tmp_path, **settings))
    assert found.state is (FindingState.OK if kept is None else FindingState.PROBLEM)
    assert kept is None or found.meaning.endswith(f"replace what is kept there: {kept}.")


def test_backups_of_a_database_elsewhere_are_made_there_but_not_those_of_a_key_that_is_here(tmp_path: Path) -> None:
    assert look_at_backups(chosen(tmp_path, **ELSEWHERE), now=NOW).state is FindingState.OK
    alone = look_at_backups(chosen(tmp_path, **{**ELSEWHERE, "secret_key": None}), now=NOW)
    assert (alone.state, alone.fix) == (FindingState.WARNING, "openslot backup create")
    assert "the secret key" in alone.meaning
    assert look_at_backups(chosen(tmp_path, **{**ELSEWHERE, "database_url": None}), now=NOW).state is (
        FindingState.WARNING
    )
    (tmp_path / "postgres").mkdir()
    (tmp_path / "postgres" / "PG_VERSION").touch()
    assert look_at_backups(chosen(tmp_path, **ELSEWHERE), now=NOW).state is FindingState.WARNING


async def test_a_week_without_a_backup_is_noticed(settings: Settings) -> None:
    from openslot.platform.backups.create import create_backup

    assert look_at_backups(settings, now=NOW).fix == "openslot backup create"
    _, manifest = await create_backup(settings, None)
    assert look_at_backups(settings, now=manifest.created_at + timedelta(days=7)).state is FindingState.OK
    assert look_at_backups(settings, now=manifest.created_at + timedelta(days=8)).state is FindingState.WARNING
    with private_file(settings.data_dir / "backups" / "openslot-broken.tar") as file:
        file.write(b"broken")
    assert look_at_backups(settings, now=manifest.created_at).state is FindingState.OK


async def inside(settings: Settings, *, is_asleep: bool = False) -> dict[str, Finding]:
    return {finding.name: finding for finding in await look_at_database(settings, WIRING, is_asleep=is_asleep)}


async def change(settings: Settings, *statements: str) -> None:
    connection = await asyncpg.connect(settings.database_url)
    for statement in statements:
        await connection.execute(statement)
    await connection.close()


async def test_an_empty_service_that_is_not_running_has_no_problem(settings: Settings) -> None:
    found = await inside(settings, is_asleep=True)
    assert found["worker"].fix == "openslot serve"
    assert found["administrator"].fix == "openslot user add EMAIL --name NAME --admin"
    assert not [finding for finding in found.values() if finding.state is FindingState.PROBLEM]


@pytest.mark.usefixtures("user")
async def test_what_stands_still_is_found(settings: Settings) -> None:
    event = new_id()
    long_ago = "now() - interval '6 minutes'"
    states = f"('queued', {long_ago}), ('dead', now()), ('queued', now()), ('done', {long_ago})"
    await change(
        settings,
        f"""insert into events (id, type, at, actor, subject_kind, fact)
            values ('{event}', 'x', now(), '{{}}', 'x', '{{}}')""",
        f"""insert into effects (id, event_id, reaction, state, next_try_at, created_at)
            select gen_random_uuid(), '{event}', 'mail', s.state, s.at, now() from (values {states}) s(state, at)""",
        """insert into periodic_runs (name, expression, due_at, started_at, lateness_ms, status, result)
           values ('queue.tidy', '* * * * *', now(), now(), 0, 'failed', 'OSError: the disk is full')""",
    )
    found = await look_at_database(settings, WIRING, is_asleep=False)
    told = {(finding.name, finding.meaning.partition(" ")[0], finding.fix) for finding in found}
    assert ("worker", "No", "openslot worker") in told
    assert ("effects", "1", "openslot worker") in told
    assert ("effects", "1", "openslot effect retry --all") in told
    assert ("administrator", "There", "openslot user admin EMAIL") in told
    assert any("OSError: the disk is full" in finding.meaning for finding in found)


async def test_credits_that_do_not_add_up_are_found(settings: Settings, runtime: Runtime) -> None:
    await add_event_type(runtime, await found_team(runtime))
    assert (await inside(settings))["teams"].state is FindingState.OK
    await change(
        settings, "update host_group_members set credit = 1 where user_id = (select min(id::text)::uuid from users)"
    )
    found = (await inside(settings))["teams"]
    assert (found.state, found.fix) == (FindingState.WARNING, "openslot team replay TEAM")
    assert found.meaning.endswith(": 2.")


@pytest.mark.usefixtures("admin")
async def test_a_running_service_is_in_order_until_a_job_is_late(settings: Settings) -> None:
    await change(
        settings,
        "insert into worker_beats values (gen_random_uuid(), 'here', 1, now(), now())",
        """insert into periodic_runs (name, expression, due_at, started_at, lateness_ms, status)
           values ('effects.sweep', '* * * * *', now(), now(), 0, 'ok')""",
    )
    assert {finding.state for finding in (await inside(settings)).values()} == {FindingState.OK}
    await change(settings, "update periodic_runs set started_at = now() - interval '7 minutes'")
    assert (await inside(settings))["periodic jobs"].meaning.endswith(
        "late, so the workers are overloaded or stuck: effects.sweep."
    )


@pytest.mark.parametrize(
    ("statement", "fix"),
    [
        ("delete from migrations where name = '0.2.0_07_events.sql'", "openslot migrate"),
        (
            "update migrations set checksum = 'edited'",
            "Install the version of Openslot that the database was last used with",
        ),
    ],
)
@pytest.mark.own_database
async def test_a_shape_that_does_not_fit_is_a_problem(settings: Settings, statement: str, fix: str) -> None:
    await change(settings, statement)
    found = (await inside(settings))["migrations"]
    assert (found.state, found.fix) == (FindingState.PROBLEM, fix)


@pytest.mark.usefixtures("user")
@pytest.mark.own_database
async def test_a_database_that_is_ahead_is_looked_through_with_a_warning(settings: Settings) -> None:
    await change(settings, "insert into migrations (name, checksum) values ('9999_future.sql', '')")
    found = await inside(settings)
    assert found["migrations"].state is FindingState.WARNING
    assert found["migrations"].meaning == (
        "A newer version of Openslot has used the database, which is ahead by 1 migration, the last is 9999_future. "
        "This version works with it."
    )
    assert "administrator" in found


@pytest.mark.usefixtures("user")
async def test_effects_that_wait_for_a_newer_worker_are_named(settings: Settings) -> None:
    event = new_id()
    await change(
        settings,
        f"""insert into events (id, type, at, actor, subject_kind, fact)
            values ('{event}', 'x', now(), '{{}}', 'x', '{{}}')""",
        f"""insert into effects (id, event_id, reaction, state, next_try_at, created_at)
            select gen_random_uuid(), '{event}', s.reaction, s.state, now(), now() from (values
                ('crm.push', 'queued'), ('crm.push', 'waiting'), ('crm.push', 'done'), ('webhooks.send', 'queued')
            ) s(reaction, state)""",
    )
    assert (await inside(settings))["effects"].meaning == (
        "Some are known only to a newer version of Openslot and wait for its workers: 2 for crm.push."
    )


@pytest.mark.usefixtures("runtime")
async def test_a_key_that_does_not_fit_the_database_is_a_problem(settings: Settings) -> None:
    assert (await inside(settings))["seals"].state is FindingState.OK
    other = msgspec.structs.replace(settings, secret_key="x" * 40)
    seals = (await inside(other))["seals"]
    assert (seals.state, seals.fix) == (FindingState.PROBLEM, "Set OPENSLOT_SECRET_KEY to the former key")
    (settings.data_dir / KEY_FILE).unlink()
    assert "seals" not in await inside(settings)
    assert not (settings.data_dir / KEY_FILE).exists()


async def test_a_pooler_is_looked_through_as_well(settings: Settings) -> None:
    pooled = msgspec.structs.replace(
        settings, direct_database_url=settings.database_url, database_url="postgresql://u:p@127.0.0.1:1/x"
    )
    found = await inside(pooled)
    assert (found["database"].state, found["pooler"].state) == (FindingState.OK, FindingState.PROBLEM)


def test_a_wrong_setting_is_the_first_thing_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENSLOT_PORT", "http")
    first = examine()[0]
    assert (first.name, first.state) == ("settings", FindingState.PROBLEM)


def test_nothing_is_made_where_nothing_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("OPENSLOT_DATA_DIR", str(tmp_path / "data"))
    assert {finding.name: finding.fix for finding in examine()}["database"] == "openslot serve"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.own_database
async def test_a_booking_that_may_be_booked_over_is_named(settings: Settings, runtime: Runtime, user: User) -> None:
    assert (await inside(settings))["bookings"].state is FindingState.OK
    async with runtime.transaction(PUBLIC) as work:
        which = ByPage(user.username, "30min")
        _, slots, _ = await list_open_slots(work, which, timezone="UTC")
        invitee = Invitee(name="Li", email="li@wei.example", zone="UTC")
        wanted = BookingWanted(which=which, starts_at=at_second(slots.starts[-1]), invitee=invitee)
        booking = await create_booking(work, wanted)
    await change(settings, "alter table claims disable trigger all; update claims set active = false")

    found = (await inside(settings))["bookings"]
    assert found.state is FindingState.PROBLEM
    assert str(booking.id) in found.meaning
