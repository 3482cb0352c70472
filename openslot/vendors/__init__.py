"""Services of others, each behind the port of a domain."""
