"""Remote code with the layers of GPT-J, GPT-NeoX, Falcon and the first Phi, and Yuan's local filter."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Head, Layer, Sublayer, Tower, parallel, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Group
from archscope.blocks.factories import attention, head_size, mlp, named_norm, size
from archscope.blocks.leaves import conv, embedding, linear, rms_norm
from archscope.blocks.size import Size
from archscope.blocks.skeletons import head, pre_norm_decoder, with_head
from archscope.blocks.undeclared import completed_decoder, first, flag
from archscope.config import Config
from archscope.families.registry import build_as, family


@family("RefinedWeb", "RefinedWebModel")
def refined_web(c: Config) -> Architecture:
    """Falcon before it had its name; the 40B model has several key/value heads, the 7B one, the 1B all of them.

    Source: tiiuae/falcon-40b, falcon-7b, falcon-rw-1b in their first revisions (modelling_RW.py, index of the weights).
    """
    grouped = c.model_type == "RefinedWeb" and first(c, "n_head_kv") is not None
    return build_as(
        completed_decoder(c),
        "falcon",
        num_attention_heads=c.num_attention_heads,
        num_hidden_layers=c.num_hidden_layers,
        num_kv_heads=first(c, "n_head_kv"),
        new_decoder_architecture=grouped,
        multi_query=flag(c, "multi_query"),
        parallel_attn=flag(c, "parallel_attn"),
        tie_word_embeddings=not grouped,
    )


@family("gpt_neox_reward_model")
def neox_reward(c: Config) -> Architecture:
    """GPT-NeoX with one number in place of the logits.

    Source: OpenAssistant/oasst-rm-2.1-pythia-1.4b-epoch-2.5 (index of the weights).
    """
    base = build_as(c.as_task("model"), "gpt_neox")
    answer = head("reward", linear("out_proj", size(c, "hidden_size"), 1, True, role="logits"))
    return Architecture(parts=(*(replace(part, name="gpt_neox") for part in base.parts), answer))


@family("moss")
def moss(c: Config) -> Architecture:
    """CodeGen: GPT-J with one matrix for queries, keys and values. Source: fnlp/moss-moon-003-base (modeling_moss.py)."""
    return build_as(completed_decoder(c), "codegen", tie_word_embeddings=False)


@family("stablelm_epoch")
def stablelm_epoch(c: Config) -> Architecture:
    """StableLM before it had its name. Source: stabilityai/stablelm-3b-4e1t (modeling_stablelm_epoch.py)."""
    return build_as(completed_decoder(c), "stablelm")


@family("phi-msft")
def phi_first(c: Config) -> Architecture:
    """Attention and MLP in parallel behind one norm; the last norm is the head's.

    Source: microsoft/phi-2 in its first revisions (modeling_phi.py).
    """
    c = _phi_config(c)
    d = size(c, "hidden_size")
    table = embedding("transformer.embd.wte", size(c, "vocab_size"), d, role="embedding", fields=("vocab_size",))
    layered = stack("transformer.h", ("",) * c.num_hidden_layers, lambda kind: _phi_layer(c), width=d)
    tower = Tower(parts=(table, layered), tower="text", model_type=c.model_type, pointer=c.pointer, width=d)
    return Architecture(parts=(tower, _phi_head(c, "lm_head.ln", "lm_head.linear")))


@family("mixformer-sequential")
def mixformer(c: Config) -> Architecture:
    """Phi's layers as one numbered sequence: embedding first, head last.

    Source: microsoft/phi-1_5 in its first revisions (modeling_mixformer_sequential.py, index of the weights).
    """
    c = _phi_config(c)
    d = size(c, "hidden_size")
    table = embedding("wte", size(c, "vocab_size"), d, role="embedding", fields=("vocab_size",))

    def layer(kind: str) -> tuple[Sublayer, ...] | Layer:
        if kind == "embedding":
            return Layer(sublayers=(), extras=(table,), width=d, label=kind)
        if kind == "head":
            return Layer(sublayers=(), extras=(_phi_head(c, "ln", "linear"),), width=d, label=kind)
        return _phi_layer(c)

    layered = stack("layers", ("embedding", *("",) * c.num_hidden_layers, "head"), layer, width=d)
    tower = Tower(parts=(layered,), tower="text", model_type=c.model_type, pointer=c.pointer, width=d)
    return Architecture(parts=(tower,))


@family("yuan")
def yuan(c: Config) -> Architecture:
    """Llama whose queries and keys come from a local filter: two convolutions over each token and the one before.

    Source: IEITYuan/Yuan2-2B-hf (yuan_hf_model.py, LocalizedFiltering); arXiv 2311.15786.
    """
    c = completed_decoder(c, tie_word_embeddings=True)
    d = size(c, "hidden_size")
    gate = Group(
        name="lf_gate",
        role="side filter",
        parts=(
            conv("conv1", d, d // 2, 2, 1),
            conv("conv2", d // 2, d, 2, 1),
            rms_norm("output_layernorm", d),
        ),
    )
    mixer = attention(c, extras=(gate,))
    return with_head(c, pre_norm_decoder(c, lambda kind: mixer, lambda kind: mlp(c)))


def _phi_config(c: Config) -> Config:
    turned = first(c, "rotary_dim")
    share = None if turned is None else float(turned) / (c.hidden_size // c.num_attention_heads)
    return completed_decoder(c, partial=share, hidden_act="gelu_new")


def _phi_layer(c: Config) -> tuple[Sublayer, ...]:
    given = first(c, "n_inner")
    inner = mlp(c, kind="plain", bias=True, width=Size(4 * c.hidden_size if given is None else given, "m"))
    return parallel(_phi_attention(c), inner, norm=named_norm(c, "layer")("ln"))


def _phi_attention(c: Config) -> Attention:
    heads, given = c.num_attention_heads, first(c, "n_head_kv")
    return attention(
        c,
        name="mixer",
        names=("", "", "", "out_proj"),
        fused="Wqkv",
        bias=True,
        num_kv_heads=heads if given is None else given,
        head_dim=head_size(c),
    )


def _phi_head(c: Config, norm: str, matrix: str) -> Head:
    d = size(c, "hidden_size")
    logits = linear(matrix, d, size(c, "vocab_size"), True, role="logits", fields=("vocab_size", "hidden_size"))
    return Head(role="head", parts=(named_norm(c, "layer")(norm), logits))
