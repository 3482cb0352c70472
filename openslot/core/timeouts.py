"""How long a process waits for its database: briefly for a request, longer for jobs and commands."""

from msgspec import Struct

from openslot.core.config import Settings

# What the server ends by itself is ended first; this is for a server that does nothing any more.
LONGER_THAN_THE_SERVER = 1.0


class Timeouts(Struct, frozen=True, kw_only=True):
    """Seconds, each; None: as long as it takes."""

    acquire: float
    """For a free connection, and for the server to take a new one."""
    lock: float
    statement: float | None
    idle: float | None
    """In a transaction, between two statements."""
    refuse_turns: bool = False
    """Whether a transaction is refused a turn that another has, instead of waiting for it with its connection."""

    @property
    def command(self) -> float | None:
        """How long we wait for a statement's answer."""
        return None if self.statement is None else self.statement + LONGER_THAN_THE_SERVER

    def server_settings(self) -> dict[str, str]:
        """Write the time-outs that the server keeps, in milliseconds; 0: none."""
        chosen = {
            "lock_timeout": self.lock,
            "statement_timeout": self.statement,
            "idle_in_transaction_session_timeout": self.idle,
        }
        return {name: str(int((seconds or 0) * 1000)) for name, seconds in chosen.items()}


# Nobody waits for a job's answer: a busy minute must not look like a failed try.
JOBS = Timeouts(acquire=60, lock=60, statement=300, idle=600)
COMMANDS = Timeouts(acquire=60, lock=60, statement=None, idle=None)


def request_timeouts(settings: Settings) -> Timeouts:
    """Tell how long a request waits."""
    wait, statement = settings.database_wait_seconds, settings.database_statement_seconds
    return Timeouts(acquire=wait, lock=wait, statement=statement, idle=statement, refuse_turns=True)
