"""The CRMs of hosts: who books and what becomes of each meeting is kept up to date there."""
