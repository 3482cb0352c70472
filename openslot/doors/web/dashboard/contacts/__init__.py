"""Pages: contacts, and the files that they are imported from."""
