"""CRMs of hosts."""
