"""Pages for those who belong to an organization, and for those who look after it."""
