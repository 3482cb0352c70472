"""The team chat: what the people who run the service are told."""
