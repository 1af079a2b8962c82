"""dots.note's vision tower: gated blocks, in later layers routed experts whose number grows with depth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from archscope.blocks.assembly import Architecture, Sublayer, pre_norm, stack
from archscope.blocks.attention import Attention, head_norms
from archscope.blocks.base import Block, weight
from archscope.blocks.factories import moe, rope, size
from archscope.blocks.leaves import layer_norm, linear, regroup, rms_norm
from archscope.blocks.mlp import gated_mlp
from archscope.blocks.patches import patch_embedding, sides
from archscope.blocks.projectors import projector
from archscope.blocks.towers import square_attention, tower_model
from archscope.config import Config
from archscope.families.registry import family

Kind = tuple[str, int, int, int]


@family("dots3_note_vision_encoder")
def dots3_vision(c: Config) -> Architecture:
    """Layers that mlp_layer_types calls sparse have experts: how many is in per_layer_config.

    Source: transformers, models/dots3_note/modeling_dots3_note.py (Dots3NoteVisionModel); names as its conversion saves
    them.
    """
    d, eps = size(c, "hidden_size"), c.rms_norm_eps

    def layer(kind: object) -> tuple[Sublayer, ...]:
        assert isinstance(kind, tuple)
        ffn = _experts(c, kind) if kind[0] == "sparse" else _mlp(c, kind[3])
        return pre_norm((rms_norm("norm_1", d, eps=eps), _attention(c)), (rms_norm("norm_2", d, eps=eps), ffn))

    joined = c.adapter_in_dim * c.adapter_merge_size**2
    adapter = projector(
        "adapter",
        d,
        c.adapter_out_dim,
        layer_norm("ln_q", c.adapter_in_dim),
        regroup("patch merge", c.adapter_in_dim, joined),
        linear("mlp.0", joined, joined, True),
        linear("mlp.2", joined, c.adapter_out_dim, True),
    )
    norm = rms_norm("norm", d, role="norm", eps=eps)
    return tower_model(
        c,
        d,
        patch_embedding("patch_embed", c.num_channels, d, sides(c.patch_size), projection="proj", norm=norm),
        stack("blocks", _kinds(c), layer, width=d),
        adapter,
        rms_norm("post_trunk_norm", d, eps=eps, role="side norm"),
        classes=("Dots3NoteVisionModel",),
    )


def _kinds(c: Config) -> list[Kind]:
    """For each layer: dense or sparse, experts, experts a token, width."""
    found = []
    per_layer = c.get("per_layer_config") or {}
    for index, kind in enumerate(c.mlp_layer_types[: c.num_hidden_layers]):
        own: Mapping[str, Any] = per_layer.get(index) or per_layer.get(str(index)) or {}
        if kind == "sparse":
            experts, active, width = (
                int(own.get(name, c.get(name)))
                for name in ("num_local_experts", "num_experts_per_tok", "moe_intermediate_size")
            )
            found.append(("sparse", experts, active, width))
        else:
            found.append(("dense", 0, 0, int(own.get("intermediate_size", c.intermediate_size))))
    return found


def _attention(c: Config) -> Attention:
    d, heads = size(c, "hidden_size"), c.num_attention_heads
    return square_attention(
        d,
        heads,
        name="attn",
        names=("", "", "", "proj"),
        fused="qkv",
        bias=bool(c.attention_bias),
        norms=head_norms("rms", d // heads, eps=c.rms_norm_eps),
        position="rope",
        rotary=rope(c, dim=int(d // heads)),
    )


def _mlp(c: Config, width: int) -> Block:
    d = size(c, "hidden_size")
    return gated_mlp(d, width, c.hidden_act, bias=bool(c.mlp_bias), names=("fc1", "fc3", "fc2"))


def _experts(c: Config, kind: tuple[Any, ...]) -> Block:
    """Experts chosen by scores with a saved bias; router and bias are bare tensors."""
    _, experts, active, width = kind
    d = size(c, "hidden_size")
    made = moe(
        c,
        num_experts=experts,
        top_k=active,
        width=width,
        router="",
        names=("fc1", "fc3", "fc2"),
        correction=weight("router_bias", experts, parameter=False),
        scoring="sigmoid",
        normalised=True,
        scale=c.router_scaling_factor,
        fields=("num_local_experts", "num_experts_per_tok", "moe_intermediate_size"),
    )
    scores = weight("gate_weight", made.router.num_experts, d, role="scores")
    return replace(made, router=replace(made.router, parts=(scores, *made.router.parts[1:])))
