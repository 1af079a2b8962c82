"""Step 3.7: gated attention with other heads in sliding layers, experts beside a shared one, a vision tower."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from archscope.blocks.assembly import Architecture, Sublayer, pre_norm
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, weight
from archscope.blocks.composites import Mount, assemble
from archscope.blocks.factories import attention, head_size, kinds, mlp, moe, named_norm, size, sliding_window
from archscope.blocks.leaves import linear
from archscope.blocks.plans import Overrides, layer_overrides
from archscope.blocks.prediction import prediction_layers
from archscope.blocks.projectors import projector
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import ahead, family, tower


@family("step3p5")
def step3p5(c: Config) -> Architecture:
    """Layers may differ in their heads (per_layer_config); experts as the whole model's conversion saves them.

    Source: transformers, models/step3p7/modeling_step3p7.py (Step3p7DecoderLayer).
    """
    own = layer_overrides(c, "num_attention_heads", "num_key_value_heads", "head_dim", "attention_bias")
    norm = named_norm(c)

    def layer(kind: tuple[tuple[str, str], Overrides]) -> tuple[Sublayer, ...]:
        (mixes, feeds), overrides = kind
        feed_forward = _experts(c) if feeds == "sparse" else mlp(c, bias=c.mlp_bias)
        return pre_norm(
            (norm("input_layernorm"), _attention(c, mixes, overrides)), (norm("post_attention_layernorm"), feed_forward)
        )

    of_layers = tuple(zip(kinds(c, "layer_types", "mlp_layer_types"), own, strict=True))
    base = decoder(c, layer, kinds=of_layers, final_norm=norm("norm"))
    return with_head(c, base, extra=_prediction(c, layer))


def _prediction(c: Config, layer: Callable[[Any], tuple[Sublayer, ...]]) -> tuple[Block, ...]:
    """The layers that the lists of types go on for, where they are equal; each repeats the head.

    Source: names of Step 3.5's checkpoints, as SGLang reads them (step3p5_mtp.py); transformers, MtpModel.
    """
    following = set(zip(c.mtp_layer_types or (), c.mtp_mlp_layer_types or (), strict=False))
    if len(following) != 1:
        return ()
    (kind,) = following
    heads = c.num_sliding_attention_heads if kind[0] == "sliding_attention" else None
    overrides = (("num_attention_heads", heads),) if heads else ()
    at = "transformer.shared_head"
    return prediction_layers(c, layer, (kind, overrides), own_tables=False, norm=f"{at}.norm", head=f"{at}.output")


@family("step3p7")
def step3p7(c: Config) -> Architecture:
    """The text model with a vision tower behind one matrix.

    Source: transformers, models/step3p7/modeling_step3p7.py (Step3p7Model); names as its conversion saves them.
    """
    text, vision, based = c.sub("text_config"), c.sub("vision_config"), c.task == "model"
    at = Mount("", "language_model" if based else "model", "lm_head")
    wide, d = vision.hidden_size * 4, size(text, "hidden_size")
    matrix = linear("multi_modal_projector" if based else "vit_large_projector", wide, d, c.projector_bias)
    seeing = tower(vision, "vision_model", "vision")
    beside, further = projector("", wide, d, matrix), ahead(text)
    return assemble(c, at, tower(text, at.text), seeing, beside, text_config=text, extra=further)


def _attention(c: Config, kind: str, overrides: Overrides) -> Attention:
    """A sigmoid gate, one number a head or one an element."""
    own = dict(overrides)
    heads = Size(own.get("num_attention_heads") or c.num_attention_heads, "h_q")
    width = Size(own.get("head_dim") or head_size(c), "d_h")
    gating = c.get("gating", True)
    gates = heads if gating is True or gating == "per-head" else heads * width
    return attention(
        c,
        bias=bool(own.get("attention_bias", c.attention_bias)),
        num_heads=heads,
        num_kv_heads=own.get("num_key_value_heads") or c.num_key_value_heads,
        head_dim=width,
        qk_norm="head",
        layer_type=kind,
        window=sliding_window(c, kind),
        scale=c.query_pre_attn_scalar**-0.5,
        extras=(linear("g_proj", size(c, "hidden_size"), gates, role="gate"),),
    )


def _experts(c: Config) -> Block:
    d, e, m = size(c, "hidden_size"), Size(c.n_routed_experts, "E"), Size(c.moe_intermediate_size, "m_e")
    shared = Size(c.share_expert_dim, "m_shared")
    return moe(
        c,
        name="",
        num_experts=e,
        top_k=c.num_experts_per_tok,
        width=m,
        router="",
        scores="moe.gate",
        correction=weight("moe.router_bias", e, parameter=False),
        experts="moe",
        stacked=(
            weight("gate_proj.weight", e, m, d),
            weight("up_proj.weight", e, m, d),
            weight("down_proj.weight", e, d, m),
        ),
        scoring="sigmoid",
        normalised=True,
        scale=c.moe_router_scaling_factor,
        shared=mlp(c, name="share_expert", role="shared", bias=c.mlp_bias, width=shared, fields=("share_expert_dim",)),
        num_shared=1,
        fields=("n_routed_experts", "num_experts_per_tok", "moe_intermediate_size"),
    )
