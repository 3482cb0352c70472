"""Pictures of hosts and organizations."""
