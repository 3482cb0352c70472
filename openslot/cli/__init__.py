"""The operator's terminal."""


def main() -> None:
    """Run the command line."""
