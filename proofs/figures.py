"""What a proof has counted, and what it must be."""

from msgspec import Struct


class Figure(Struct, frozen=True):
    """A number with its name; with a bound it can fail."""

    name: str
    value: float | str
    at_most: float | None = None
    at_least: float | None = None
    within: float | None = None
    """At most so many seconds, on a machine that does nothing else."""

    @property
    def is_kept(self) -> bool:
        if isinstance(self.value, str):
            return True
        too_much = any(most is not None and self.value > most for most in (self.at_most, self.within))
        too_little = self.at_least is not None and self.value < self.at_least
        return not (too_much or too_little)

    def __str__(self) -> str:
        bounds = [("at most", self.at_most), ("at most", self.within), ("at least", self.at_least)]
        wanted = ", ".join(f"{words} {bound:g}" for words, bound in bounds if bound is not None)
        value = self.value if isinstance(self.value, str) else f"{self.value:g}"
        return f"{self.name:>44}  {value:>10}  {wanted}{'' if self.is_kept else '   NOT KEPT'}".rstrip()


class Impossible(Exception):
    """This machine can't run a proof; the text says why."""
