"""Models that read and write images as tokens of a learned codebook: Janus, Emu 3, Chameleon."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Sublayer, post_norm, pre_norm
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, group, weight
from archscope.blocks.composites import Mount, assemble, nested
from archscope.blocks.factories import attention, mlp, size
from archscope.blocks.leaves import embedding, linear, rms_norm
from archscope.blocks.projectors import Projector, plain_bridge, projector
from archscope.blocks.repeated import repeated
from archscope.blocks.skeletons import decoder, pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family, tower


@family("janus")
def janus(c: Config) -> Architecture:
    """SigLIP for reading, a VQ-VAE with its own embeddings, aligner and head for writing, one text tower for both.

    Source: transformers, models/janus/modeling_janus.py (JanusModel).
    """
    at, text = nested(c), c.sub("text_config")
    vision, vq = c.sub("vision_config"), c.sub("vq_config")
    parts = (
        tower(vision, at("vision_model"), "vision"),
        _aligner(at("aligner"), vision.hidden_size, vision.projection_dim, vision.depth),
        tower(vq, at("vqmodel"), "vision"),
        embedding(at("generation_embeddings"), vq.num_embeddings, vq.embed_dim, of="image token"),
        _aligner(at("generation_aligner"), vq.embed_dim, vq.projection_dim, vq.num_hidden_layers),
        plain_bridge(
            vq.image_token_embed_dim,
            vq.projection_dim,
            vq.num_embeddings,
            name=at("generation_head"),
            names=("proj_out", "vision_head"),
            activation=vq.hidden_act,
        ),
    )
    return assemble(c, at, tower(text, at.text), *parts, text_config=text)


@family("emu3_text_model")
def emu3_text(c: Config) -> Architecture:
    """Llama's layer with optional biases.

    Source: transformers, models/emu3/modeling_emu3.py (Emu3TextModel).
    """
    text = pre_norm_decoder(c, lambda kind: attention(c, bias=c.attention_bias), lambda kind: mlp(c, bias=c.mlp_bias))
    return with_head(c, text)


@family("emu3")
def emu3(c: Config) -> Architecture:
    """Images and text in one vocabulary; a VQ-VAE over space and time makes the image tokens.

    Source: transformers, models/emu3/modeling_emu3.py (Emu3Model); names as its conversion saves them.
    """
    at, text = Mount("", "text_model.model", "text_model.lm_head"), c.sub("text_config")
    seeing = tower(c.sub("vq_config"), "vqmodel", "vision")
    return assemble(c, at, tower(text, at.text), seeing, text_config=text)


@family("chameleon")
def chameleon(c: Config) -> Architecture:
    """Llama's layer with a norm for each head on queries and keys; norms inside the branches where swin_norm is true.

    Source: transformers, models/chameleon/modeling_chameleon.py (ChameleonModel, ChameleonSwinDecoderLayer).
    """
    d = size(c, "hidden_size")

    def layer(kind: object) -> tuple[Sublayer, ...]:
        mixer, feed_forward = _normed_attention(c), mlp(c, bias=c.mlp_bias)
        first, second = rms_norm("input_layernorm", d), rms_norm("post_attention_layernorm", d)
        if c.swin_norm:
            return post_norm((mixer, first), (feed_forward, second))
        return pre_norm((first, mixer), (second, feed_forward))

    at = "vqmodel" if c.task == "model" else "model.vqmodel"
    seeing = tower(c.sub("vq_config"), at, "vision")
    return with_head(c, decoder(c, layer, final_norm=rms_norm("norm", d)), beside=(seeing,))


def _normed_attention(c: Config) -> Attention:
    d, heads, kv = (size(c, f) for f in ("hidden_size", "num_attention_heads", "num_key_value_heads"))
    width = d // heads

    def norm(name: str, count: int) -> Block:
        return group(name, weight("weight", count, width), weight("bias", count, width), role=name)

    return attention(
        c,
        head_dim=width,
        bias=c.attention_bias,
        extras=(norm("q_norm", heads), norm("k_norm", kv)),
        fields=("num_attention_heads", "num_key_value_heads", "hidden_size"),
    )


def _aligner(name: str, inputs: int, width: int, depth: int) -> Projector:
    """One matrix into the text's width, then depth - 1 of that width."""
    return projector(
        name,
        inputs,
        width,
        linear("fc1", inputs, width, True),
        repeated("hidden_layers", depth - 1, linear("", width, width, True)),
    )
