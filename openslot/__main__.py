"""`python -m openslot` is `openslot`."""

from openslot.cli import main

main()
