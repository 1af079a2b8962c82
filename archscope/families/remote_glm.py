"""GLM before it came to transformers: ChatGLM-6B, ChatGLM2 and 3, GLM-4, and the tower of GLM-4V."""

from __future__ import annotations

from archscope.blocks.assembly import (
    Architecture,
    Branch,
    Opaque,
    Sublayer,
    Tower,
    post_norm,
    pre_norm,
    stack,
)
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Group, weight
from archscope.blocks.factories import attention, mlp, named_norm, num_labels, size
from archscope.blocks.leaves import conv, embedding, layer_norm, linear
from archscope.blocks.patches import class_token, patch_embedding
from archscope.blocks.projectors import Projector, gated_bridge, projector
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, head, with_head
from archscope.blocks.towers import feed_forward, square_attention
from archscope.blocks.undeclared import completed_decoder, first, flag, part_of, whole
from archscope.config import Config
from archscope.families.registry import family


@family("chatglm")
def chatglm(c: Config) -> Architecture:
    """The first release has fields of its own (inner_hidden_size); its `architectures` name the base class all the same.

    Source: THUDM/chatglm-6b, chatglm3-6b, glm-4-9b, glm-4v-9b (modeling_chatglm.py, indexes of the weights).
    """
    if c.model_class == "ChatGLMModel" and not c.pointer:
        c = c.as_task("causal_lm")
    return _first_release(c) if c.get("inner_hidden_size") is not None else _later_release(c)


def _first_release(c: Config) -> Architecture:
    """Layers of a norm, then attention and MLP that each add to sqrt(2 L) times what the norm gave.

    Rotary positions in two dimensions; biases everywhere. Source: THUDM/chatglm-6b; GLM, arXiv 2103.10360.
    """
    c = completed_decoder(c, hidden_act="gelu")
    norm, d, heads = named_norm(c, "layer"), size(c, "hidden_size"), c.num_attention_heads
    alpha = float(2 * c.num_hidden_layers) ** 0.5
    mixer = attention(
        c, name="attention", names=("", "", "", "dense"), fused="query_key_value", bias=True, num_kv_heads=heads
    )
    width = Size(c.inner_hidden_size, "m")
    inner = mlp(c, kind="plain", names=("dense_h_to_4h", "dense_4h_to_h"), width=width, bias=True)

    def layer(kind: object) -> tuple[Sublayer, ...]:
        return tuple(
            one
            for name, body in (("input_layernorm", mixer), ("post_attention_layernorm", inner))
            for one in (
                Sublayer(branches=(Branch(body=norm(name)),), residual=False),
                Sublayer(branches=(Branch(body=body),), residual_scale=alpha),
            )
        )

    before = _prompt(c, c.num_hidden_layers * d * 2)
    tower = decoder(c, layer, embed="word_embeddings", before=before, final_norm=norm("final_layernorm"))
    seeing = c.get("eva_config") is not None or c.get("qformer_config") is not None
    beside = (Opaque(name="image_encoder", model_type="", reason="nothing is known of VisualGLM's tower"),) * seeing
    return with_head(c, tower, prefix="transformer", beside=beside, tie=False)


def _later_release(c: Config) -> Architecture:
    """Pre-norm layers with half of each head rotated; keys and values in groups with multi_query_attention."""
    c = completed_decoder(c, theta=10000.0 * first(c, "rope_ratio", default=1), partial=0.5, hidden_act="silu")
    norm = named_norm(c, "rms" if flag(c, "rmsnorm", default=True) else "layer")
    mixer, bias = _grouped(c), flag(c, "add_bias_linear")
    inner = mlp(c, kind="fused", names=("dense_h_to_4h", "dense_4h_to_h"), bias=bias)
    layers = decoder(
        c,
        lambda kind: pre_norm((norm("input_layernorm"), mixer), (norm("post_attention_layernorm"), inner)),
        embed="embedding.word_embeddings",
        layers="encoder.layers",
        before=_prompt(c, c.num_hidden_layers * mixer.num_kv_heads * mixer.head_dim * 2),
        final_norm=norm("encoder.final_layernorm") if flag(c, "post_layer_norm", default=True) else None,
    )
    seeing = part_of(c, "vision_config")
    beside = () if seeing is None else _visual(c, seeing)
    labels = linear("classifier_head", size(c, "hidden_size"), num_labels(c), True, role="logits")
    return with_head(
        c,
        layers,
        prefix="transformer",
        lm_head="transformer.output_layer",
        beside=beside,
        heads={"sequence_classification": (head("sequence_classification", labels),)},
        tie=False,
    )


def _grouped(c: Config) -> Attention:
    heads = c.num_attention_heads
    grouped = flag(c, "multi_query_attention")
    return attention(
        c,
        name="self_attention",
        names=("", "", "", "dense"),
        fused="query_key_value",
        bias=flag(c, "add_bias_linear") or flag(c, "add_qkv_bias"),
        out_bias=flag(c, "add_bias_linear"),
        num_kv_heads=first(c, "multi_query_group_num", default=1) if grouped else heads,
        head_dim=first(c, "kv_channels", default=c.hidden_size // heads),
        fields=("num_attention_heads", "multi_query_group_num", "kv_channels", "hidden_size"),
    )


def _prompt(c: Config, width: int) -> tuple[Block, ...]:
    """Learned keys and values that stand before the text (P-tuning v2), where pre_seq_len says how many."""
    count = whole(c.get("pre_seq_len"))
    if count is None or flag(c, "prefix_projection"):
        return ()
    return (embedding("prefix_encoder.embedding", count, width, of="position", role="side prompt"),)


def _visual(c: Config, v: Config) -> tuple[Block, ...]:
    """EVA-CLIP whose layers norm what they add, then a convolution of 2 by 2 patches and a gated projector."""
    d, patch, eps = size(v, "hidden_size"), int(v.patch_size), first(v, "layer_norm_eps")
    mixer = square_attention(d, v.num_heads, name="attention", names=("", "", "", "dense"), fused="query_key_value")
    inner = feed_forward(v, d, size(v, "intermediate_size"))
    layered = stack(
        "transformer.layers",
        ("",) * v.num_hidden_layers,
        lambda kind: post_norm(
            (mixer, layer_norm("input_layernorm", d, eps=eps)),
            (inner, layer_norm("post_attention_layernorm", d, eps=eps)),
        ),
        width=d,
    )
    stem = patch_embedding(
        "patch_embedding",
        v.in_channels,
        d,
        (patch, patch),
        projection="proj",
        token=class_token("cls_embedding", 1, d),
        positions=v.num_positions,
    )
    at = "vision" if c.task == "model" else "transformer.vision"
    tower = Tower(name=at, parts=(stem, layered), tower="vision", model_type="chatglm", pointer=v.pointer, width=d)
    return (tower, _bridge(at, d, size(c, "hidden_size"), size(c, "intermediate_size")))


def _bridge(at: str, source: int, target: int, width: int) -> Projector:
    """Two learned vectors mark where an image begins and ends."""
    names = ("gate_proj", "dense_h_to_4h", "dense_4h_to_h")
    parts = (
        linear("linear_proj", target, target, role="in"),
        layer_norm("norm1", target),
        gated_bridge(target, width, target, names=names),
    )
    return projector(
        at,
        source,
        target,
        conv("conv", source, target, 2, 2),
        Group(name="linear_proj", parts=parts),
        weight("boi", 1, 1, target, role="side token"),
        weight("eoi", 1, 1, target, role="side token"),
    )
