"""The processes of an installation: a supervisor, web processes and workers, and how each finds its database."""
