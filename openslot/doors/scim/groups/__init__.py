"""Groups of an identity provider."""
