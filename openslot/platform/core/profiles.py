"""What a process needs from its connections: how long it waits for them, and how they plan statements."""

from msgspec import Struct

from openslot.platform.core.config import Settings

# The server's own time-outs come first; this one is for a server that no longer responds.
LONGER_THAN_THE_SERVER = 1.0
# For short statements that run often and find everything by an index: one plan for all arguments, even if it was made
# while the table was small (docs/performance.md, Plans).
KEPT_PLANS = {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off"}
CUSTOM_PLANS = {"plan_cache_mode": "force_custom_plan", "enable_seqscan": "on"}


class ConnectionProfile(Struct, frozen=True, kw_only=True):
    """How long each thing may take, in seconds (None if there is no limit), and how statements are planned."""

    acquire: float
    """The wait for a free connection."""
    lock: float
    statement: float | None
    idle: float | None
    """The pause between two statements in a transaction."""
    connect: float = 10
    """The wait for a server to accept a new connection, for all servers of a URL together."""
    refuse_turns: bool = False
    """Whether a transaction is refused when another has the turn, instead of waiting while holding its connection."""
    keeps_plans: bool = True
    """Whether a statement keeps one plan for all arguments."""

    @property
    def command(self) -> float | None:
        """How long we wait for a statement's answer."""
        return None if self.statement is None else self.statement + LONGER_THAN_THE_SERVER

    def server_settings(self) -> dict[str, str]:
        """Return the server's time-outs in milliseconds; 0 means none."""
        chosen = {
            "lock_timeout": self.lock,
            "statement_timeout": self.statement,
            "idle_in_transaction_session_timeout": self.idle,
        }
        return {name: str(int((seconds or 0) * 1000)) for name, seconds in chosen.items()}


# Nobody waits for a job's result, and a busy minute must not look like a failed attempt.
JOBS = ConnectionProfile(acquire=60, lock=60, statement=300, idle=600)
COMMANDS = ConnectionProfile(acquire=60, lock=60, statement=None, idle=None, keeps_plans=False)


def request_profile(settings: Settings) -> ConnectionProfile:
    wait, statement = settings.database_wait_seconds, settings.database_statement_seconds
    return ConnectionProfile(
        acquire=wait, lock=wait, statement=statement, idle=statement, connect=min(10, wait), refuse_turns=True
    )
