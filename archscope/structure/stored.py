"""Stored weights against the structure: what is missing, what is left over, what has another shape."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

from archscope.records import dataclass
from archscope.source import StoredTensor
from archscope.structure.tensors import Tensor

_NUMBER = re.compile(r"(?<=\.)\d+(?=\.|$)")
_NOT_SAVED = re.compile(
    r"(rotary_emb\.inv_freq|\.attn\.(masked_)?bias|attention\.(masked_)?bias|position_ids|rotary_pos_emb\.inv_freq"
    r"|num_batches_tracked|\.attention\.rotary_emb\.\w+|embeddings\.token_type_ids|relative_position_index|\.mask$)"
)
"""Buffers that older releases saved and that loading ignores."""

_QUANTISED = re.compile(
    r"\.(qweight|qzeros|scales|biases|g_idx|weight_scale(_inv|_2)?|weight_packed|weight_shape|weight_zero_point"
    r"|input_scale|output_scale|absmax|quant_map|nested_absmax|nested_quant_map|SCB|weight_global_scale"
    r"|input_global_scale|k_scale|v_scale|q_scale|kv_scale|zeros|weight_format|weights_scaling_factor"
    r"|activation_scaling_factor|prequant_scaling_factor|pre_quant_scale)$|\.quant_state\.\w+$"
    r"|_(blocks|scales)$|_scale(_inv)?$"
)
"""Endings of tensors that only a quantised checkpoint has."""


def is_quantised_name(name: str) -> bool:
    """Whether only a quantised checkpoint has a tensor of this name."""
    return _QUANTISED.search(name) is not None


def is_computed_name(name: str) -> bool:
    """Whether a tensor of this name is a buffer that older releases saved, and that loading ignores."""
    return _NOT_SAVED.search(name) is not None


def pattern(name: str) -> str:
    """The name with every number of a layer or expert as *."""
    return _NUMBER.sub("*", name)


@dataclass(frozen=True)
class Comparison:
    """The tensors that the structure implies, beside those that the files name.

    Quantisation's own tensors, and buffers that loading ignores, are set apart before anything is compared.
    """

    expected: Mapping[str, Tensor]
    stored: Mapping[str, StoredTensor]

    @cached_property
    def plain(self) -> Mapping[str, StoredTensor]:
        """The stored tensors that are a model's own."""
        return {
            name: tensor
            for name, tensor in self.stored.items()
            if not _NOT_SAVED.search(name) and (name in self.expected or not _QUANTISED.search(name))
        }

    @cached_property
    def quantised(self) -> tuple[str, ...]:
        """Names that only a quantised checkpoint has."""
        return tuple(name for name in self.stored if name not in self.expected and _QUANTISED.search(name))

    @cached_property
    def shared(self) -> int:
        """How many names both have."""
        return sum(1 for name in self.plain if name in self.expected)

    @property
    def same_naming(self) -> bool:
        """Whether the names are those of this architecture at all: half of the smaller side is common."""
        smaller = min(len(self.plain), len(self.expected))
        return smaller > 0 and 2 * self.shared >= smaller

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """Expected tensors that are not stored, in plain or quantised form."""
        modules = {name.rpartition(".")[0] for name in self.quantised}
        modules |= {module.rpartition(".")[0] for module in modules if "quant_state" in module}
        return tuple(
            name
            for name in self.expected
            if name not in self.stored
            and name.rpartition(".")[0] not in modules
            and f"{name}_blocks" not in self.stored
        )

    @cached_property
    def unexpected(self) -> tuple[str, ...]:
        """Stored tensors that the structure has no place for."""
        return tuple(name for name in self.plain if name not in self.expected)

    @cached_property
    def misshapen(self) -> tuple[str, ...]:
        """Tensors that both have, with another shape in the files; quantised ones are not compared."""
        odd = {name.rpartition(".")[0] for name in self.quantised}
        return tuple(
            name
            for name, tensor in self.plain.items()
            if tensor.shape is not None
            and name in self.expected
            and tuple(map(int, self.expected[name].shape)) != tensor.shape
            and name.rpartition(".")[0] not in odd
            and (tensor.dtype is None or tensor.dtype.startswith(("F", "BF")))
        )
