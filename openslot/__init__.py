"""Online scheduling that you run yourself."""

__version__ = "0.2.0.dev0"
