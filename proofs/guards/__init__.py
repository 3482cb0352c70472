"""The guards of promises: each mutant is the product without some of them, and names the test that must fail then."""

from proofs.guards.costs import OF_COSTS
from proofs.guards.doors import OF_DOORS
from proofs.guards.models import Edit, Mutant
from proofs.guards.times import OF_TIMES

__all__ = ["MUTANTS", "Edit", "Mutant"]

MUTANTS = (*OF_TIMES, *OF_DOORS, *OF_COSTS)
