"""The recipe of docs/high-availability.md has what the drills have, fits together, and its programs understand it."""

import re
import shutil
import subprocess
from configparser import ConfigParser
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from openslot.platform.core.environment import load_settings
from proofs import cluster

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/high-availability.md").read_text("utf-8")
SERVERS, MACHINES = ("10.0.0.1", "10.0.0.2"), ("10.0.0.1", "10.0.0.2", "10.0.0.3")
# What only one machine without a network needs, and what HAProxy is for on the page.
OF_THE_DRILL = {"etcd3.host", "etcd3.use_proxies", "watchdog.mode", "postgresql.callbacks.on_role_change"}
OF_THE_DRILL |= {"postgresql.callbacks.on_start", "bootstrap.pg_hba"}


def blocks(section: str) -> list[str]:
    """List what a section shows as files."""
    text = PAGE.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


PATRONI: dict[str, Any] = yaml.safe_load(blocks("Patroni")[0])
ETCD = dict(line.split("=", 1) for line in blocks("etcd")[0].splitlines())
HAPROXY = blocks("HAProxy")[0]
URLS = dict(line.split("=", 1) for line in blocks("Openslot")[0].splitlines())


def pgbouncer(text: str) -> dict[str, dict[str, str]]:
    parser = ConfigParser(delimiters=("=",))
    parser.read_string("\n".join(line for line in text.splitlines() if not line.startswith("%include")))
    return {name: dict(parser[name]) for name in parser.sections()}


def paths(settings: Any, above: str = "") -> set[str]:
    """Name every setting by its path; a parameter of PostgreSQL is not one."""
    if not isinstance(settings, dict) or above.endswith("parameters."):
        return {above.removesuffix(".")}
    return {path for name, value in settings.items() for path in paths(value, f"{above}{name}.")}


def test_patroni_has_what_it_has_in_the_drills(tmp_path: Path) -> None:
    ports = cluster.Ports(etcd=1, postgres=2, rest=3)
    rules = {**cluster.QUICK, "synchronous_mode": True}
    drill = paths(cluster._patroni(tmp_path, ports, ports, tmp_path, rules))

    assert drill - paths(PATRONI) == OF_THE_DRILL
    assert PATRONI["bootstrap"]["dcs"]["synchronous_mode"] is True
    assert PATRONI["bootstrap"]["dcs"]["postgresql"]["use_pg_rewind"] is True


def test_patroni_renews_its_lease_in_time() -> None:
    dcs = PATRONI["bootstrap"]["dcs"]

    assert dcs["loop_wait"] + 2 * dcs["retry_timeout"] <= dcs["ttl"]


def may_connect(user: str, database: str, address: str) -> bool:
    """Tell whether a line of `pg_hba` lets this user in from there, with a password."""
    for line in PATRONI["postgresql"]["pg_hba"]:
        kind, databases, users, *rest = line.split()
        if kind != "host" or users != user or ip_address(address) not in ip_network(rest[0]):
            continue
        # As in PostgreSQL, `all` is no name of replication.
        if databases == database or (databases == "all" and database != "replication"):
            return bool(rest[1] == "scram-sha-256")
    return False


@pytest.mark.parametrize(
    ("user", "database", "froms"),
    [
        ("replicator", "replication", SERVERS),
        # Patroni itself, and pg_rewind at the other server.
        ("postgres", "postgres", SERVERS),
        ("openslot", "openslot", MACHINES),
    ],
)
def test_everyone_who_has_to_may_connect_and_no_one_else(user: str, database: str, froms: tuple[str, ...]) -> None:
    asked = (*MACHINES, "10.0.0.4", "192.0.2.1")

    assert [address for address in asked if may_connect(user, database, address)] == list(froms)


def test_every_etcd_is_a_member_and_every_patroni_asks_all_of_them() -> None:
    members = dict(each.split("=", 1) for each in ETCD["ETCD_INITIAL_CLUSTER"].split(","))

    assert [urlsplit(url).hostname for url in members.values()] == list(MACHINES)
    assert members[ETCD["ETCD_NAME"]] == ETCD["ETCD_LISTEN_PEER_URLS"] == ETCD["ETCD_INITIAL_ADVERTISE_PEER_URLS"]
    assert ETCD["ETCD_ADVERTISE_CLIENT_URLS"] in ETCD["ETCD_LISTEN_CLIENT_URLS"].split(",")
    assert PATRONI["etcd3"]["hosts"].split(",") == [f"{address}:2379" for address in MACHINES]
    # "the name and the address in the first six lines"
    assert [name for name in ETCD if "10.0.0.1" in ETCD[name] or name == "ETCD_NAME"][:-1] == [
        name for name in list(ETCD)[:6] if name != "ETCD_DATA_DIR"
    ]


def test_pgbouncer_has_what_it_has_in_the_drills_and_leads_to_the_server_beside_it(tmp_path: Path) -> None:
    cluster._write_pgbouncer(tmp_path / "pooler", 6432)
    drill = pgbouncer((tmp_path / "pooler/pgbouncer.ini").read_text())["pgbouncer"]
    ours = pgbouncer(blocks("PgBouncer")[0])
    same = ("pool_mode", "server_login_retry", "server_connect_timeout", "listen_port")

    assert set(drill) - set(ours["pgbouncer"]) == {"log_connections", "log_disconnections"}
    assert {name: ours["pgbouncer"][name] for name in same} == {name: drill[name] for name in same}
    assert (
        ours["pgbouncer"]["auth_type"] == PATRONI["bootstrap"]["dcs"]["postgresql"]["parameters"]["password_encryption"]
    )
    host, port = PATRONI["postgresql"]["listen"].split(":")
    assert ours["databases"] == {"openslot": f"host={host} port={port}"}
    assert ours["pgbouncer"]["listen_addr"] == host


def test_the_addresses_lead_through_haproxy_to_the_port_of_each_server() -> None:
    settings = load_settings(environ={name: value for name, value in URLS.items() if not name.endswith("_FILE")})
    pooler, direct = (urlsplit(url or "") for url in (settings.database_url, settings.direct_database_url))
    pooler_port = int(pgbouncer(blocks("PgBouncer")[0])["pgbouncer"]["listen_port"])
    rest = PATRONI["restapi"]["listen"].partition(":")[2]

    assert settings.database_pooler
    for url, port in ((pooler, pooler_port), (direct, 5432)):
        assert url.password == "PASSWORD-4"
        part = re.split(r"\n\n", HAPROXY.partition(f"bind {url.hostname}:{url.port}\n")[2])[0]
        assert re.findall(r"server db\d (\S+)", part) == [f"{address}:{port}" for address in SERVERS]
    assert f"default-server check port {rest} " in HAPROXY
    # A connection that leads to a former primary would go on reading from it.
    assert "on-marked-down shutdown-sessions" in HAPROXY


@pytest.mark.skipif(shutil.which("haproxy") is None, reason="HAProxy is not installed")
def test_haproxy_understands_every_line(tmp_path: Path) -> None:
    file = tmp_path / "haproxy.cfg"
    file.write_text(HAPROXY)

    checked = subprocess.run(["haproxy", "-c", "-f", file], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("patroni") is None, reason="Patroni is not installed")
def test_patroni_understands_the_file(tmp_path: Path) -> None:
    """It also asks for two things that may be left out, and for servers that answer at these addresses."""
    newest = max(Path("/usr/lib/postgresql").glob("*/bin"))
    text = blocks("Patroni")[0].replace("/usr/lib/postgresql/15/bin", str(newest))
    file = tmp_path / "config.yml"
    file.write_text(text.replace("/var/lib/postgresql/15/openslot", str(tmp_path / "data")))

    checked = subprocess.run(["patroni", "--validate-config", file], capture_output=True, text=True, check=False)
    missed = [line for line in (checked.stdout + checked.stderr).splitlines() if "10.0.0." not in line]
    assert missed == ["bootstrap.pg_hba  is not defined.", "postgresql.authentication.rewind  is not defined."]
