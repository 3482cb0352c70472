"""Users, organizations, memberships and plans."""
