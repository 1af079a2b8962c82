"""The Llama lineage: pre-norm decoders with rotary grouped-query attention and a gated or plain MLP."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Tower
from archscope.blocks.attention import Attention
from archscope.blocks.base import weight
from archscope.blocks.factories import attention, head_size, mlp, size, sliding_window
from archscope.blocks.leaves import linear, rms_norm
from archscope.blocks.mlp import Mlp
from archscope.blocks.size import Size
from archscope.blocks.skeletons import QA_PREFIX, pre_norm_decoder, vocabulary_head, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("llama", "internlm3", "iquestcoder")
def llama(c: Config) -> Architecture:
    """Pre-norm decoder with grouped-query attention and a gated MLP.

    Source: transformers, models/llama/modeling_llama.py (LlamaDecoderLayer).
    """
    tower = pre_norm_decoder(c, lambda kind: attention(c, bias=c.attention_bias), lambda kind: mlp(c, bias=c.mlp_bias))
    return with_head(c, tower, prefixes=QA_PREFIX)


@family("arcee")
def arcee(c: Config) -> Architecture:
    """Llama's attention with a plain MLP of squared ReLU.

    Source: transformers, models/arcee/modeling_arcee.py (ArceeMLP).
    """
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.attention_bias),
        lambda kind: mlp(c, kind="plain", names=("up_proj", "down_proj"), bias=c.mlp_bias),
    )
    return with_head(c, tower, prefixes=QA_PREFIX)


@family("cwm")
def cwm(c: Config) -> Architecture:
    """Llama without biases in the attention, sliding in the layers that layer_types names.

    Source: transformers, models/cwm/modeling_cwm.py (CwmAttention).
    """
    tower = pre_norm_decoder(
        c, lambda kind: attention(c, window=sliding_window(c, kind)), lambda kind: mlp(c, bias=c.mlp_bias)
    )
    return with_head(c, tower)


@family("apertus")
def apertus(c: Config) -> Architecture:
    """Norms on queries and keys, and a plain MLP whose xIELU activation has two learned slopes and two saved constants.

    Source: transformers, models/apertus/modeling_apertus.py (ApertusMLP), activations.py (XIELUActivation).
    """
    return with_head(c, _apertus(c))


@family("apertus1p5_text")
def apertus1p5_text(c: Config) -> Architecture:
    """Apertus whose head may know fewer tokens than the table.

    Source: transformers, models/apertus1p5/modeling_apertus1p5.py (Apertus1p5TextForCausalLM).
    """
    tower = _apertus(c)
    table = "model.embed_tokens.weight" if c.tie_word_embeddings else ""
    words = Size(c.output_vocab_size or c.vocab_size, "V")
    logits = vocabulary_head(c, tower.width, tied_to=table, vocabulary=words)
    return with_head(c, tower, heads={"causal_lm": (logits,)})


def _apertus(c: Config) -> Tower:
    return pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.attention_bias, qk_norm="head"),
        lambda kind: _xielu_mlp(c),
        norms=("attention_layernorm", "feedforward_layernorm"),
    )


@family("bitnet")
def bitnet(c: Config) -> Architecture:
    """Llama with a further norm before each output matrix, for ternary weights.

    Source: transformers, models/bitnet/modeling_bitnet.py (BitNetAttention, BitNetMLP).
    """
    d = size(c, "hidden_size")
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.attention_bias, extras=(rms_norm("attn_sub_norm", d, role="norm"),)),
        lambda kind: _normed(mlp(c)),
    )
    return with_head(c, tower)


@family("diffllama")
def diffllama(c: Config) -> Architecture:
    """Differential attention: two softmax maps, the second taken off the first, weighted by four learned vectors.

    Source: transformers, models/diffllama/modeling_diffllama.py (DiffLlamaAttention); arXiv 2410.05258.
    """
    names = ("lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2")
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(
            c,
            bias=c.attention_bias,
            extras=(
                *(weight(name, head_size(c)) for name in names),
                rms_norm("groupnorm", 2 * head_size(c), affine=False),
            ),
        ),
        lambda kind: mlp(c),
    )
    return with_head(c, tower, prefixes=QA_PREFIX)


@family("helium")
def helium(c: Config) -> Architecture:
    """Llama whose output matrix is hidden by hidden and never has a bias.

    Source: transformers, models/helium/modeling_helium.py (HeliumAttention).
    """
    tower = pre_norm_decoder(c, lambda kind: _square_output(c), lambda kind: mlp(c, bias=c.mlp_bias))
    return with_head(c, tower)


def _square_output(c: Config) -> Attention:
    d = size(c, "hidden_size")
    made = attention(c, bias=c.attention_bias)
    return replace(made, parts=(*made.parts[:-1], linear("o_proj", d, d, role="o", fields=("hidden_size",))))


def _xielu_mlp(c: Config) -> Mlp:
    made = mlp(c, kind="plain", names=("up_proj", "down_proj"))
    if c.hidden_act != "xielu":
        return made
    slopes = (weight("act_fn.alpha_p", 1), weight("act_fn.alpha_n", 1))
    constants = (weight("act_fn.beta", parameter=False), weight("act_fn.eps", parameter=False))
    return replace(made, parts=(*made.parts, *slopes, *constants))


def _normed(made: Mlp) -> Mlp:
    return replace(made, parts=(*made.parts[:-1], rms_norm("ffn_sub_norm", made.width, role="norm"), made.parts[-1]))
