"""The structure of a model, lowered from its blocks."""

from archscope.structure.placed import Placed
from archscope.structure.stored import Comparison
from archscope.structure.structure import Mismatch, Structure
from archscope.structure.tensors import Tensor

__all__ = ["Comparison", "Mismatch", "Placed", "Structure", "Tensor"]
