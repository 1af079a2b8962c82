"""NeoMME: a bidirectional encoder of text and image patches, with gated attention and embeddings of values."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Branch, Layer, Sublayer, Tower, stack
from archscope.blocks.attention import Attention, head_norms
from archscope.blocks.base import Block, group, weight
from archscope.blocks.factories import attention, kinds, mlp, size, sliding_window
from archscope.blocks.leaves import embedding, layer_norm, linear, rms_norm
from archscope.blocks.size import Size
from archscope.blocks.skeletons import head, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("neomme")
def neomme(c: Config) -> Architecture:
    """Norms without weights; layers mix in the embeddings; tokens are embedded through a narrow rank, and back.

    Source: transformers, models/neomme/modeling_neomme.py (NeoMMEEncoderLayer, NeoMMEForMaskedLM).
    """
    d, eps, scale = size(c, "hidden_size"), c.norm_eps, c.residual_multiplier

    def branch(norm: str, body: Block) -> Sublayer:
        return Sublayer(branches=(Branch(pre=rms_norm(norm, d, eps=eps, affine=False), body=body, scale=scale),))

    def layer(kind: str) -> Layer:
        ffn = mlp(c, kind="plain", names=("up_proj", "down_proj"), bias=c.mlp_bias)
        sublayers = (branch("input_layernorm", _attention(c, kind)), branch("post_attention_layernorm", ffn))
        return Layer(sublayers=sublayers, width=d, label=kind.replace("_", " "), extras=(weight("lambdas", 2),))

    layers = stack("layers", kinds(c, "layer_types"), layer, width=d)
    parts = (
        *_inputs(c),
        rms_norm("embedding_norm", d, eps=eps, affine=False),
        layers,
        rms_norm("final_norm", d, eps=eps, affine=False),
    )
    tower = Tower(parts=parts, tower="encoder", model_type=c.model_type, pointer=c.pointer, width=d)
    heads = {
        "masked_lm": (_masked_head(c),),
        "NeoMMEForRetrieval": (head("retrieval", linear("multi_vector_head.proj", d, c.embedding_dim)),),
    }
    return with_head(c, tower, heads=heads)


def _inputs(c: Config) -> tuple[Block, ...]:
    """Tokens, patches in place of some, and a table whose rows are added to the values of two layers."""
    d, vocabulary, rank = size(c, "hidden_size"), size(c, "vocab_size"), Size(c.embedding_rank, "r_embed")
    patch, values = Size(c.patch_dim, "p"), size(c, "num_key_value_heads") * size(c, "head_dim")
    words = embedding("word_embeddings", vocabulary, rank, fields=("vocab_size", "embedding_rank"))
    return (
        group("embed_tokens", words, linear("embedding_projection", rank, d), role="embedding"),
        group(
            "patch_embeddings",
            layer_norm("norm", patch),
            linear("up_proj", patch, 2 * d),
            linear("down_proj", 2 * d, d, True),
            role="side patches",
        ),
        embedding("value_embeddings", vocabulary, values, of="value", role="side values"),
    )


def _attention(c: Config, kind: str) -> Attention:
    """A sigmoid gate on every element; what lies along a token's own value is taken out by a learned share a head."""
    d, width, heads = size(c, "hidden_size"), size(c, "head_dim"), size(c, "num_attention_heads")
    return attention(
        c,
        names=("q_proj", "k_proj", "v_proj", "output_projection.o_proj"),
        bias=c.attention_bias,
        causal=False,
        cache=False,
        layer_type=kind,
        window=sliding_window(c, kind),
        extras=(
            *head_norms("rms", width, eps=c.norm_eps, affine=False),
            weight("exclusive_self_attention.alpha", heads),
            linear("output_projection.gate_proj", d, heads * width, role="gate"),
        ),
    )


def _masked_head(c: Config) -> Block:
    """Into the rank of the embeddings by the transposed projection, then to the vocabulary; both may be shared."""
    d, rank, tied = size(c, "hidden_size"), Size(c.embedding_rank, "r_embed"), bool(c.tie_word_embeddings)
    at = "model.embed_tokens"
    projection = f"{at}.embedding_projection.weight" if tied else ""
    # Saved as the projection of the embeddings is, and used the other way round.
    narrow = linear("unembedding_projection", d, rank, role="narrow", transposed=True, tied_to=projection)
    words = f"{at}.word_embeddings.weight" if tied else ""
    return head("masked_lm", narrow, linear("lm_head", rank, size(c, "vocab_size"), role="logits", tied_to=words))
