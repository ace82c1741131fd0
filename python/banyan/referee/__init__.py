"""Computes the exact output distribution of a verification rule that is a function."""

from .chance import CannotEnumerate, SampledOnly
from .toys import SETTINGS, Tree
from .verdict import Case, Verdict, exact_of

__all__ = ["CannotEnumerate", "Case", "SETTINGS", "SampledOnly", "Tree", "Verdict",
           "exact_of"]
