"""Remote code that copies the Llama layer: the same modules under the same names, with biases, norms or scales of its own.

Names follow the indexes of published checkpoints; what a config leaves out takes the default of the published class.
"""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Layer, pre_norm
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block
from archscope.blocks.factories import attention, mlp, moe, named_norm, size
from archscope.blocks.leaves import linear, rms_norm
from archscope.blocks.mlp import Mlp
from archscope.blocks.moe import Moe
from archscope.blocks.prediction import PredictionLayer, PredictionLayers
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.blocks.undeclared import completed_decoder, first, flag, whole
from archscope.config import Config
from archscope.families.registry import build_as, family


@family("aquila", "skywork")
def llama_copy(c: Config) -> Architecture:
    """Llama under another name. Source: BAAI/Aquila-7B, Skywork/Skywork-13B-base (modeling files beside the weights)."""
    return build_as(completed_decoder(c), "llama")


@family("internlm", "PanguEmbedded")
def biased_llama(c: Config) -> Architecture:
    """Llama with biases on all four attention matrices, by the field `bias`.

    Source: internlm/internlm-chat-7b, openPangu-Embedded-7B (indexes of the weights).
    """
    return build_as(completed_decoder(c), "llama", attention_bias=flag(c, "bias", default=True))


@family("kimi_k2")
def kimi_k2(c: Config) -> Architecture:
    """DeepSeek-V3 under another name. Source: moonshotai/Kimi-K2-Instruct (config.json: DeepseekV3ForCausalLM)."""
    return build_as(completed_decoder(c), "deepseek_v3")


@family("Emu3")
def emu3(c: Config) -> Architecture:
    """Llama over text and image tokens; a bias on queries, keys and values by qkv_bias.

    Source: BAAI/Emu3-Gen (modeling_emu3.py), BAAI/Emu3.5 (config.json).
    """
    return build_as(completed_decoder(c), "qwen2" if flag(c, "qkv_bias") else "llama", use_sliding_window=False)


@family("Yi")
def yi(c: Config) -> Architecture:
    """Llama whose two norms have short names. Source: 01-ai/Yi-6B, its first release (modeling_yi.py)."""
    c = completed_decoder(c)
    tower = pre_norm_decoder(c, lambda kind: attention(c), lambda kind: mlp(c), norms=("ln1", "ln2"))
    return with_head(c, tower)


@family("orion")
def orion(c: Config) -> Architecture:
    """Llama with LayerNorms that have a bias. Source: OrionStarAI/Orion-14B-Base (modeling_orion.py)."""
    c = completed_decoder(c)
    bias, norm = flag(c, "attention_bias"), named_norm(c, "layer")
    return with_head(c, pre_norm_decoder(c, lambda kind: attention(c, bias=bias), lambda kind: mlp(c), norm=norm))


@family("xverse")
def xverse(c: Config) -> Architecture:
    """Llama; where num_experts is set, softmax-routed experts beside shared ones.

    Source: xverse/XVERSE-7B, xverse/XVERSE-MoE-A4.2B (modeling_xverse.py).
    """
    c = completed_decoder(c)
    if whole(c.get("num_experts")) is None:
        return build_as(c, "llama")
    width, shared = size(c, "intermediate_size"), first(c, "num_shared_experts", default=0)
    block = mlp(c, name="shared_experts", role="shared", width=width * shared) if shared else None
    experts = moe(
        c,
        num_experts=c.num_experts,
        top_k=first(c, "moe_top_k", "num_experts_per_tok"),
        width=width,
        router="router",
        normalised=True,
        shared=block,
        num_shared=shared,
    )
    return with_head(c, pre_norm_decoder(c, lambda kind: attention(c), lambda kind: experts))


@family("mimo")
def mimo(c: Config) -> Architecture:
    """Qwen2's layer; further layers that predict the next tokens are saved as `mtp_layers`.

    Source: XiaomiMiMo/MiMo-7B-Base (modeling_mimo.py, index of the weights).
    """
    c = completed_decoder(c)
    made, count = build_as(c, "qwen2"), whole(c.get("num_nextn_predict_layers"))
    if count is None:
        return made
    d, norm = size(c, "hidden_size"), named_norm(c)
    body = pre_norm(
        (norm("input_layernorm"), attention(c, bias=True, out_bias=False)),
        (norm("post_attention_layernorm"), mlp(c)),
    )
    one = PredictionLayer(
        width=d,
        parts=(
            rms_norm("token_layernorm", d, role="embed_norm"),
            rms_norm("hidden_layernorm", d, role="hidden_norm"),
            linear("input_proj", 2 * d, d, role="join"),
            Layer(sublayers=body, width=d, role="layer"),
            rms_norm("final_layernorm", d, role="norm"),
        ),
    )
    name = "mtp_layers" if c.task == "model" else "model.mtp_layers"
    return replace(made, extra=(PredictionLayers(name=name, role="prediction", layer=one, first=0, count=count),))


@family("minicpm")
def minicpm(c: Config) -> Architecture:
    """Llama whose branches are scaled by scale_depth / sqrt(layers); head and token table are one by default.

    With num_experts, each layer has Mixtral's experts. Source: openbmb/MiniCPM-2B-sft-bf16 and MiniCPM-MoE-8x2B
    (modeling_minicpm.py); arXiv 2404.06395.
    """
    c = completed_decoder(c, tie_word_embeddings=True, scale_depth=1)
    experts, bias = whole(c.get("num_experts")), flag(c, "attention_bias")
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=bias),
        lambda kind: mlp(c) if experts is None else _mixtral(c, experts),
        scale=float(c.scale_depth) / c.num_hidden_layers**0.5,
        embed_scale=first(c, "scale_emb"),
    )
    return with_head(c, tower)


@family("baichuan")
def baichuan(c: Config) -> Architecture:
    """Queries, keys and values in one matrix W_pack.

    The class of the 7B model has rotary positions; that of the 13B has ALiBi, and no max_position_embeddings.
    Source: baichuan-inc/Baichuan2-7B-Base, Baichuan2-13B-Base (modeling_baichuan.py).
    """
    c = completed_decoder(c)
    mixer = attention(
        c,
        fused="W_pack",
        num_kv_heads=c.num_attention_heads,
        position="alibi" if c.get("max_position_embeddings") is None else "rope",
    )
    return with_head(c, pre_norm_decoder(c, lambda kind: mixer, lambda kind: mlp(c)))


@family("telechat")
def telechat(c: Config) -> Architecture:
    """Queries apart from keys and values, which share a matrix; biases on the two output matrices only.

    Source: Tele-AI/telechat-7B, TeleChat2 (modeling_telechat.py, indexes of the weights).
    """
    c = completed_decoder(c, tie_word_embeddings=True, hidden_act="silu")
    norm = named_norm(c)
    before: tuple[Block, ...] = (norm("word_embeddings_layernorm"),) if flag(c, "embed_layernorm") else ()
    tower = pre_norm_decoder(
        c,
        lambda kind: _halves(c),
        lambda kind: _biased_down(mlp(c)),
        embed="word_embeddings",
        layers="h",
        final="ln_f",
        before=before,
    )
    return with_head(c, tower, prefix="transformer", token_table="word_embeddings")


def _halves(c: Config) -> Attention:
    """Attention with one matrix for queries and one for keys and values."""
    made, d = attention(c, name="self_attention"), size(c, "hidden_size")
    inner, kv = made.num_heads * made.head_dim, made.num_kv_heads * made.head_dim
    return replace(
        made,
        parts=(
            linear("query", d, inner, role="q"),
            linear("key_value", d, 2 * kv, role="kv"),
            linear("dense", inner, d, True, role="o"),
        ),
    )


def _biased_down(made: Mlp) -> Mlp:
    down = linear("down_proj", made.width, made.hidden, True, role="down")
    return replace(made, parts=(*made.parts[:-1], down))


def _mixtral(c: Config, experts: int) -> Moe:
    return moe(
        c,
        num_experts=experts,
        top_k=c.num_experts_per_tok,
        width=size(c, "intermediate_size"),
        names=("w1", "w3", "w2"),
        normalised=True,
        fields=("num_experts", "num_experts_per_tok", "intermediate_size"),
    )
