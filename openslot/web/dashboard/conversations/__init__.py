"""Pages: conversations."""
