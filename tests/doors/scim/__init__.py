"""SCIM: the pure parts by rules and properties, the door over HTTP, providers by what they send."""
