"""Feature flags: parts of the product that an operator can switch off, for everyone or for one user."""
