"""Molmo 2: patches pooled by attention into a decoder whose projections are saved fused."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Sublayer, post_norm, pre_norm
from archscope.blocks.attention import Attention
from archscope.blocks.composites import Mount, assemble
from archscope.blocks.factories import attention, mlp, named_norm, size
from archscope.blocks.joined import PiecedTable
from archscope.blocks.leaves import linear, regroup
from archscope.blocks.mlp import Mlp
from archscope.blocks.projectors import Projector, gated_bridge, projector
from archscope.blocks.skeletons import decoder, with_head
from archscope.blocks.towers import is_mounted
from archscope.config import Config
from archscope.families.registry import family, tower


@family("molmo2_text")
def molmo2_text(c: Config) -> Architecture:
    """Norms before the sublayers, or after them where norm_after is true; more tokens than the head has logits.

    Source: transformers, models/molmo2/modeling_molmo2.py (Molmo2DecoderLayer); names as its conversion saves them.
    """
    d, norm, inner = size(c, "hidden_size"), named_norm(c), is_mounted(c)

    def layer(kind: object) -> tuple[Sublayer, ...]:
        first, second = norm("attn_norm"), norm("ff_norm")
        mixer, feed_forward = _attention(c), mlp(c, kind="fused", names=("ff_proj", "ff_out"))
        if c.norm_after:
            return post_norm((mixer, first), (feed_forward, second))
        return pre_norm((first, mixer), (second, feed_forward))

    rows = c.vocab_size + c.additional_vocab_size
    # On saving the table is cut into two halves, wherever the additional tokens begin.
    half = (rows + 1) // 2
    table = PiecedTable(
        name="wte", role="embedding", pieces=(("embedding", half), ("new_embedding", rows - half)), dim=d
    )
    text = decoder(c, layer, layers="blocks" if inner else "layers", final_norm=norm("ln_f" if inner else "norm"))
    return with_head(c, replace(text, parts=(table, *text.parts[1:])), tie=False)


@family("molmo2")
def molmo2(c: Config) -> Architecture:
    """Layers of the vision tower side by side, pooled by attention over each window, then a gated projector.

    Source: transformers, models/molmo2/modeling_molmo2.py (Molmo2Adapter); conversion_mapping.py.
    """
    text, at = c.sub("text_config"), "" if c.task == "model" else "model."
    mount = Mount(f"{at}vision_backbone.", f"{at}transformer")
    seeing = tower(c.sub("vision_config"), mount("image_vit"), "vision")
    bridge = _adapter(c, f"{at}vision_backbone")
    return assemble(c, mount, tower(text, mount.text), seeing, bridge, text_config=text, tie=False)


def _attention(c: Config) -> Attention:
    return attention(
        c,
        fused="att_proj",
        names=("", "", "", "attn_out"),
        bias=c.attention_bias,
        out_bias=False,
        qk_norm="head" if c.qk_norm_type == "qwen3" else "full",
    )


def _adapter(c: Config, name: str) -> Projector:
    adapter = c.sub("adapter_config")
    d_v = adapter.hidden_size
    joined = d_v * len(adapter.vision_feature_layer)
    pooling = attention(
        adapter,
        name="image_pooling_2d",
        names=("wq", "wk", "wv", "wo"),
        bias=adapter.attention_bias,
        hidden=joined,
        causal=False,
        cache=False,
        position="none",
    )
    out = linear("wo", pooling.num_heads * pooling.v_head_dim, d_v, adapter.attention_bias, role="o")
    return projector(
        name,
        d_v,
        adapter.text_hidden_size,
        regroup("layers side by side", d_v, joined),
        replace(pooling, parts=(*pooling.parts[:-1], out)),
        _gated(adapter),
    )


def _gated(c: Config) -> Mlp:
    """The last matrix never has a bias."""
    d_v, m, d = c.hidden_size, c.intermediate_size, c.text_hidden_size
    made = gated_bridge(d_v, m, d, name="image_projector", bias=c.mlp_bias, names=("w1", "w3", "w2"))
    return replace(made, parts=(*made.parts[:-1], linear("w2", m, d, role="down")))
