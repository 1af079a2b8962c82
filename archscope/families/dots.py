"""The dots lineage: Qwen3's attention (1) or latent attention by type of layer (3), and DeepSeek-V3's experts."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import Block
from archscope.blocks.factories import attention, kinds, latent_attention, mlp, size, sliding_window
from archscope.blocks.indexer import sparse_indexer
from archscope.blocks.leaves import linear, rms_norm
from archscope.blocks.plans import layer_overrides
from archscope.blocks.routed import grouped_moe, sparse_layers
from archscope.blocks.size import SYMBOLS, Size
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family

BY_LAYER = (
    "num_attention_heads",
    "q_lora_rank",
    "kv_lora_rank",
    "qk_nope_head_dim",
    "qk_rope_head_dim",
    "v_head_dim",
    "sliding_window",
    "index_n_heads",
    "index_head_dim",
    "index_topk",
)
"""What per_layer_config may set for a layer."""


@family("dots1")
def dots1(c: Config) -> Architecture:
    """Norms on queries and keys, windows by layer_types, dense layers first, then sigmoid-routed experts.

    Source: transformers, models/dots1/modeling_dots1.py.
    """
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.attention_bias, qk_norm="head", window=sliding_window(c, kind[0])),
        lambda kind: grouped_moe(c) if kind[1] == "moe" else mlp(c),
        kinds=tuple(zip(c.layer_types, sparse_layers(c, c.first_k_dense_replace), strict=False)),
    )
    return with_head(c, tower)


@family("dots3_note_text")
def dots3_note_text(c: Config) -> Architecture:
    """Latent attention with a gate per head; some layers slide with sizes of their own, some have an indexer.

    Source: transformers, models/dots3_note/modeling_dots3_note.py (Dots3NoteTextAttention, Dots3NoteTextMoE).
    """
    overrides = layer_overrides(c, *BY_LAYER)
    plan = tuple((*kind, own) for kind, own in zip(kinds(c, "layer_types", "mlp_layer_types"), overrides, strict=True))
    tower = pre_norm_decoder(
        c,
        lambda kind: _latent(c, kind[0], dict(kind[2])),
        lambda kind: grouped_moe(c, shared_width=c.shared_experts_intermediate_size) if kind[1] == "sparse" else mlp(c),
        kinds=plan,
    )
    return with_head(c, tower)


def _latent(c: Config, kind: str, own: dict[str, int | None]) -> Block:
    def of(field: str) -> Size:
        return Size(own.get(field, c.get(field)), SYMBOLS.get(field, field))  # type: ignore[arg-type]

    d = size(c, "hidden_size")
    extras: tuple[Block, ...] = (
        rms_norm("k_rope_only_layernorm", of("qk_rope_head_dim"), role="k_rope_norm"),
        linear("g_proj", d, of("num_attention_heads"), role="gate"),
    )
    if kind == "indexed_attention":
        chosen = sparse_indexer(
            d,
            of("q_lora_rank"),
            num_heads=of("index_n_heads"),
            head_dim=of("index_head_dim"),
            top_k=of("index_topk"),
        )
        extras = (*extras, chosen)
    window = of("sliding_window") if kind == "sliding_attention" else None
    return latent_attention(c, bias=c.attention_bias, extras=extras, sizes=own, layer_type=kind, window=window)
