"""How many files and connections a process may have open."""

import resource

ENOUGH = 65_536


def raise_descriptor_limit() -> int:
    """Raise the soft limit as far as the machine allows and the service can use; return the new limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted
