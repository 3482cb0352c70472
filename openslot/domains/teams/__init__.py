"""Teams of organizations: who belongs to them, and how the hosts of their event types are chosen."""
