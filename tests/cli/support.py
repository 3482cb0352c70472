"""What the terminal says."""

from tests.support.installation import Installation


def sentence(installation: Installation, *arguments: str) -> str:
    """Run a command that must fail, and give the one sentence that it ends with."""
    code, out, err = installation.run(*arguments)
    assert (code, out) == (1, "")
    assert err.startswith("openslot: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    installation.wait_until_gone(within=0.5)
    return err.removeprefix("openslot: ").strip()
