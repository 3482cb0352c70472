"""Tests of the sign-in through an identity provider."""
