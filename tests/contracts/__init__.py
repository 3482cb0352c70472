"""What others build on: the API against its own description."""
