"""The Containerfile and the compose file name only what exists, and give nothing away that they need not."""

import re
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml

from openslot import __version__
from openslot.platform.core.config import SECRET, Settings, environment_name, file_variable
from openslot.platform.core.environment import load_settings
from tests.support.manifests import HEARTBEAT_CHECK

ROOT = Path(__file__).parents[2]
KNOWN = {environment_name(field) for field in Settings.__struct_fields__} | set(map(file_variable, SECRET))
OPERATORS = {"DOMAIN": "book.example.com", "OPENSLOT_MAIL_FROM": "Openslot <bookings@example.com>"}
SECRETS = {
    "database_url": "postgresql://openslot:hidden@postgres/openslot\n",
    "database_password": "hidden\n",
    "secret_key": "0123456789-0123456789-0123456789-0123456789\n",
    "smtp_url": "smtp://ann:hidden@mail.example.com:587\n",
}
VARIABLE = re.compile(r"\$\{([A-Z_]+):\?[^}]+\}")
# What may be left out.
OPTIONAL = "${COMMIT:-}"


def read(path: str) -> str:
    return (ROOT / path).read_text("utf-8")


def instructions() -> list[tuple[str, str]]:
    """List what the Containerfile tells, word by word, with continued lines joined."""
    lines = re.sub(r"\\\n\s*", "", read("Containerfile")).splitlines()
    said = [line.partition(" ") for line in lines if line and not line.startswith("#")]
    return [(word, rest) for word, _, rest in said]


def final_stage() -> list[tuple[str, str]]:
    """List what is told of the image that people run."""
    told = instructions()
    return told[max(number for number, (word, _) in enumerate(told) if word == "FROM") :]


@pytest.fixture
def compose() -> dict[str, Any]:
    """The compose file with an operator's answers."""
    text = VARIABLE.sub(lambda found: OPERATORS[found[1]], read("compose.yaml"))
    text = text.replace(OPTIONAL, "0123456789ab")
    assert "${" not in text
    parsed: dict[str, Any] = yaml.safe_load(text)
    return parsed


def test_image_runs_as_an_ordinary_user_with_one_volume_and_a_health_check() -> None:
    told = dict(final_stage())

    assert told["USER"] == "openslot"
    assert told["VOLUME"] == "/data"
    assert told["EXPOSE"] == str(Settings().port)
    assert f"http://127.0.0.1:{Settings().port}/healthz" in told["HEALTHCHECK"]
    assert told["ENTRYPOINT"] == '["tini", "--", "openslot"]'
    assert told["CMD"] == '["serve"]'


def test_image_has_the_programs_that_a_backup_over_tls_needs() -> None:
    [packages] = [
        part for word, rest in final_stage() if word == "RUN" for part in rest.split("&&") if "install" in part
    ][:1]

    assert "postgresql-client" in packages.split()


def test_a_container_of_a_worker_is_told_to_be_checked_by_its_heartbeat() -> None:
    told = " ".join(read("docs/install.md").split())

    assert f"--health-cmd '{HEARTBEAT_CHECK}'" in told
    assert "worker --heartbeat /tmp/heartbeat" in told


def test_image_sets_only_settings_that_exist() -> None:
    told = [rest for word, rest in final_stage() if word == "ENV"]
    names = set(re.findall(r"(OPENSLOT_[A-Z_]+|DATABASE_URL\w*)=", " ".join(told)))

    assert names == {"OPENSLOT_HOST", "OPENSLOT_DATA_DIR"}
    assert names <= KNOWN


def test_image_is_built_from_locked_packages_and_from_files_that_are_sent_to_the_builder() -> None:
    installs = [part for word, rest in instructions() if word == "RUN" for part in rest.split("&&") if "pip in" in part]
    copied = [rest.split()[:-1] for word, rest in instructions() if word == "COPY" and "--from" not in rest]
    sent = {line[1:] for line in read(".dockerignore").splitlines() if line.startswith("!")}

    assert all("--require-hashes" in each or "--no-deps /dist/*.whl" in each for each in installs)
    assert len(installs) == 3
    names = {source for sources in copied for source in sources}
    assert {sender for sender in sent if any(f"{name}/".startswith(f"{sender}/") for name in names)} == sent
    assert all(any(f"{name}/".startswith(f"{sender}/") for sender in sent) for name in names)
    assert all((ROOT / source).exists() for sources in copied for source in sources)


def test_compose_settings_exist_and_are_accepted(compose: dict[str, Any], tmp_path: Path) -> None:
    service = compose["services"]["openslot"]
    environ = service["environment"]
    for name, content in SECRETS.items():
        (tmp_path / name).write_text(content)
    here = {name: value.replace("/run/secrets", str(tmp_path)) for name, value in environ.items()}

    assert set(environ) <= KNOWN
    settings = load_settings(environ=here)
    assert settings.public_url == "https://book.example.com"
    assert settings.database_url == SECRETS["database_url"].strip()
    assert settings.secret_key == SECRETS["secret_key"].strip()
    assert settings.smtp_url is not None
    assert settings.smtp_url.server.host == "mail.example.com"


def test_every_secret_of_the_compose_file_is_a_file_that_git_ignores(compose: dict[str, Any]) -> None:
    services = compose["services"].values()
    used = [name for service in services for name in service.get("secrets", [])]
    named = [
        value.removeprefix("/run/secrets/")
        for service in services
        for name, value in service.get("environment", {}).items()
        if name.endswith("_FILE")
    ]

    assert sorted(used) == sorted(named) == sorted(SECRETS)
    assert compose["secrets"] == {name: {"file": f"./secrets/{name}"} for name in SECRETS}
    assert "/secrets/" in read(".gitignore").splitlines()
    assert all(f"secrets/{name}" in read("docs/install.md") for name in SECRETS)


def test_only_caddy_can_be_reached_and_only_its_address_is_trusted(compose: dict[str, Any]) -> None:
    services = compose["services"]
    address = services["caddy"]["networks"]["front"]["ipv4_address"]
    (pool,) = compose["networks"]["front"]["ipam"]["config"]

    assert [name for name, service in services.items() if "ports" in service] == ["caddy"]
    assert services["openslot"]["environment"]["OPENSLOT_TRUSTED_PROXIES"] == address
    assert ip_address(address) in ip_network(pool["subnet"])
    # An engine gives addresses of this range to containers that start before Caddy.
    given = ip_network(pool["ip_range"])
    assert given[0] in ip_network(pool["subnet"])
    assert ip_address(address) not in given
    assert services["postgres"]["networks"] == ["back"]
    assert f"reverse_proxy openslot:{Settings().port}" in read("deploy/Caddyfile")
    assert "respond @metrics 404" in read("deploy/Caddyfile")


def test_compose_gives_the_service_no_more_than_it_needs(compose: dict[str, Any]) -> None:
    service = compose["services"]["openslot"]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["image"] == f"openslot:{__version__}"
    assert "privileged" not in read("compose.yaml").replace("no-new-privileges", "")


def test_every_volume_and_network_of_the_compose_file_is_declared(compose: dict[str, Any]) -> None:
    services = compose["services"].values()
    mounts = [mount.split(":")[0] for service in services for mount in service["volumes"]]
    files = [mount for mount in mounts if mount.startswith("./")]

    assert sorted(set(mounts) - set(files)) == sorted(compose["volumes"])
    assert all((ROOT / file).is_file() for file in files)
    assert {network for service in services for network in service["networks"]} == set(compose["networks"])
    assert all(name in compose["services"] for service in services for name in service.get("depends_on", []))


@pytest.mark.parametrize(
    "path",
    ["Containerfile", "compose.yaml", "deploy/Caddyfile", "deploy/systemd/openslot.service", "docs/install.md"],
)
def test_no_setting_is_named_that_does_not_exist(path: str) -> None:
    assert set(re.findall(r"\b(?:OPENSLOT|DATABASE)_[A-Z_]+", read(path))) <= KNOWN


def test_what_an_operator_must_choose_is_documented() -> None:
    assert set(VARIABLE.findall(read("compose.yaml"))) == set(OPERATORS)
    assert all(f"{name}=" in read("docs/install.md") for name in OPERATORS)
