"""InternLM2, InternViT, and InternVL before it came to transformers."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Tower
from archscope.blocks.attention import head_norms
from archscope.blocks.base import Block
from archscope.blocks.factories import attention, mlp, size
from archscope.blocks.layer_scale import layer_scale
from archscope.blocks.leaves import layer_norm, linear, regroup
from archscope.blocks.patches import class_token, patch_embedding, position_weight
from archscope.blocks.projectors import mlp_projector
from archscope.blocks.skeletons import head, pre_norm_decoder, with_head
from archscope.blocks.towers import feed_forward, layers, norm_maker, square_attention, tower_model
from archscope.blocks.undeclared import completed_decoder, first, flag, part_of
from archscope.config import Config
from archscope.families.registry import family, mounted, tower


@family("internlm2")
def internlm2(c: Config) -> Architecture:
    """Llama with queries, keys and values in one matrix and names of its own; the reward model gives one number.

    Source: internlm/internlm2-7b, internlm2-7b-reward (modeling_internlm2.py); arXiv 2403.17297.
    """
    c = completed_decoder(c)
    bias = flag(c, "bias", default=True)
    mixer = attention(c, name="attention", names=("", "", "", "wo"), fused="wqkv", bias=bias)
    built = pre_norm_decoder(
        c,
        lambda kind: mixer,
        lambda kind: mlp(c, name="feed_forward", names=("w1", "w3", "w2")),
        norms=("attention_norm", "ffn_norm"),
        embed="tok_embeddings",
    )
    reward = head("reward", linear("v_head", size(c, "hidden_size"), 1, role="logits"))
    heads: dict[str, tuple[Block, ...]] = {"InternLM2ForRewardModel": (reward,)}
    return with_head(c, built, lm_head="output", token_table="tok_embeddings", heads=heads)


@family("intern_vit_6b", "intern_vit_300m")
def intern_vit(c: Config) -> Architecture:
    """A class token, a factor for each channel of both branches, norms on queries and keys by qk_normalization.

    Source: OpenGVLab/InternViT-6B-448px-V1-5, InternViT-300M-448px (modeling_intern_vit.py); arXiv 2312.14238.
    """
    d, count, eps = size(c, "hidden_size"), c.num_hidden_layers, first(c, "layer_norm_eps", default=1e-6)
    patch, image = int(c.patch_size), int(c.image_size)
    positions = (image // patch) ** 2 + 1
    norms = head_norms("rms", d, eps=eps) if flag(c, "qk_normalization", default=True) else ()
    mixer = square_attention(
        d,
        c.num_attention_heads,
        name="attn",
        names=("", "", "", "proj"),
        fused="qkv",
        bias=flag(c, "qkv_bias"),
        out_bias=True,
        norms=norms,
    )
    stem = patch_embedding(
        "embeddings",
        first(c, "num_channels", default=3),
        d,
        (patch, patch),
        token=class_token("class_embedding", 1, 1, d),
        positions=positions,
        position=position_weight("position_embedding", 1, positions, d),
    )
    layered = layers(
        "encoder.layers",
        count,
        d,
        mixer,
        feed_forward(c, d, size(c, "intermediate_size")),
        norm=norm_maker("layer" if first(c, "norm_type", default="rms_norm") == "layer_norm" else "rms"),
        norms=("norm1", "norm2"),
        eps=eps,
        scales=(layer_scale("ls1", d), layer_scale("ls2", d)),
    )
    return tower_model(c, d, stem, layered)


@family("internvl_chat")
def internvl_chat(c: Config) -> Architecture:
    """InternViT, patches folded into channels, a norm and two matrices, and any language model with its head.

    Source: OpenGVLab/InternVL2-2B (modeling_internvl_chat.py).
    """
    seeing, text = part_of(c, "vision_config"), part_of(c, "llm_config")
    if seeing is None or text is None:
        raise ValueError("vision_config and llm_config are needed")
    d, target = size(seeing, "hidden_size"), size(text, "hidden_size")
    fold = int(1 / first(c, "downsample_ratio", default=0.5)) ** 2
    bridge = mlp_projector(
        "mlp1",
        d,
        target,
        inputs=d * fold,
        names=("1", "3"),
        before=(regroup("pixel shuffle", d, d * fold), layer_norm("0", d * fold, eps=1e-5)),
    )
    answering = mounted(text.as_task("causal_lm"), "language_model")
    looking = tower(seeing, "vision_model", "vision")
    if not isinstance(looking, Tower):
        return Architecture(parts=(looking, bridge, *answering), partial="the vision tower is not known")
    return Architecture(parts=(looking, bridge, *answering))
