"""Settings from the command line, passed on through the environment so that child processes see them too."""

import os

from openslot.core.config import Settings, environment_name, load_settings


def choose(**flags: object) -> None:
    """Let flags override the environment, here and in every child process."""
    for field, value in flags.items():
        if value is not None:
            os.environ[environment_name(field)] = str(value)


def settings() -> Settings:
    """Read the current settings."""
    return load_settings()
