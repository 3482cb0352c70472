"""Stripe: checkout, refunds and notices over its REST API."""
