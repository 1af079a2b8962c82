"""Text model types of the snapshot that archscope does not build, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

MISSING: Mapping[str, str] = MappingProxyType({})
"""Model type to reason. A test fails for a type that is neither built nor here, and for one that is both."""

TEXT_TASKS = (
    "causal_lm",
    "image_text_to_text",
    "multimodal_lm",
    "seq_to_seq_causal_lm",
    "speech_seq_2_seq",
    "masked_lm",
)
"""The auto tables whose model types read or write text."""
