"""Messages of agents to the team chat."""
