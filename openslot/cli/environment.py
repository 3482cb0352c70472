"""Settings from the command line, handed on through the environment so that child processes see them too."""

import os

from openslot.core.config import Settings, environment_name, load_settings


def choose(**flags: object) -> None:
    """Let flags stand above the environment, here and in every child process."""
    for field, value in flags.items():
        if value is not None:
            os.environ[environment_name(field)] = str(value)


def settings() -> Settings:
    """Read the settings as they are now."""
    return load_settings()
