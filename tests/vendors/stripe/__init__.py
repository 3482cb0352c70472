"""Stripe: the adapter, the fake, and the library that both are compared with."""
