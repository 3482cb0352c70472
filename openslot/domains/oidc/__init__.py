"""Sign-in through an identity provider: OpenID Connect, authorization code flow with PKCE."""
