"""SCIM 2.0: identity providers create, change and remove an organization's members."""
