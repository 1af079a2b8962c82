"""ModernBERT: pre-norm layers with GeGLU, most of them with a narrow window; as encoder, decoder, and with an eye."""

from __future__ import annotations

from typing import Any

from archscope.blocks.assembly import Architecture, Branch, Sublayer, Tower
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, group
from archscope.blocks.encoder_heads import Heads
from archscope.blocks.encoders import encoder
from archscope.blocks.factories import mlp, num_labels, rope, size
from archscope.blocks.leaves import Norm, embedding, layer_norm, linear, regroup
from archscope.blocks.projectors import Projector
from archscope.blocks.skeletons import head, tied_names, with_head
from archscope.blocks.towers import square_attention
from archscope.config import Config
from archscope.families.registry import family, tower


@family("modernbert")
def modernbert(c: Config) -> Architecture:
    """Encoder whose every third layer sees all, the others local_attention positions.

    Source: transformers, models/modernbert/modeling_modernbert.py.
    """
    table = "model.embeddings.tok_embeddings.weight"
    heads = _label_heads(c, c, ("sequence_classification", "token_classification", "question_answering"))
    heads["multiple_choice"] = (head("multiple_choice", _transform(c, "head"), _classifier(c, 1)),)
    heads["masked_lm"] = (head("masked_lm", _transform(c, "head"), _decoder(c, "decoder", table)),)
    return with_head(c, _tower(c, causal=False), heads=heads)


@family("modernbert-decoder")
def modernbert_decoder(c: Config) -> Architecture:
    """The same layers causal, with separate projections.

    Source: transformers, models/modernbert_decoder/modeling_modernbert_decoder.py.
    """
    table = "model.embeddings.tok_embeddings.weight"
    classifier = linear("classifier", size(c, "hidden_size"), num_labels(c), c.classifier_bias, role="logits")
    heads: Heads = {
        "causal_lm": (head("causal_lm", _transform(c, "lm_head"), _decoder(c, "decoder", table)),),
        "sequence_classification": (head("sequence_classification", _transform(c, "head"), classifier),),
    }
    return with_head(c, _tower(c, causal=True), heads=heads)


@family("modernvbert")
def modernvbert(c: Config) -> Architecture:
    """A vision tower whose patches are shuffled together and projected into ModernBERT.

    Source: transformers, models/modernvbert/modeling_modernvbert.py.
    """
    text, vision = c.sub("text_config"), c.sub("vision_config")
    at = "" if c.task == "model" else "model."
    joined = vision.hidden_size * c.pixel_shuffle_factor**2
    d = size(text, "hidden_size")
    connector = Projector(
        name=f"{at}connector",
        parts=(
            regroup("pixel shuffle", vision.hidden_size, joined),
            linear("modality_projection", joined, d),
        ),
        source_width=vision.hidden_size,
        target_width=d,
    )
    base = (tower(vision, f"{at}vision_model", "vision"), connector, tower(text, f"{at}text_model", "encoder"))
    heads = _label_heads(c, text, ("sequence_classification", "token_classification")) | {"model": ()}
    table = "model.text_model.embeddings.tok_embeddings.weight" if c.tie_word_embeddings else ""
    words = linear("lm_head", d, size(text, "vocab_size"), text.decoder_bias, role="logits", tied_to=table)
    heads["masked_lm"] = (head("masked_lm", _transform(text, "projection_head"), words),)
    found = heads.get(c.task)
    ties = tuple(pair for part in found or () for pair in tied_names(part, ""))
    reason = "" if found is not None else f"the head of {c.model_class or 'this class'} is not known"
    return Architecture(parts=(*base, *(found or ())), tied=ties, partial=reason)


def _tower(c: Config, *, causal: bool) -> Tower:
    d = size(c, "hidden_size")
    tokens = embedding("embeddings.tok_embeddings", size(c, "vocab_size"), d, role="embedding", fields=("vocab_size",))
    kinds = [(kind, number == 0) for number, kind in enumerate(c.layer_types[: c.num_hidden_layers])]

    def layer(kind: Any) -> tuple[Sublayer, ...]:
        layer_type, first = kind
        ffn = mlp(c, kind="fused", names=("Wi", "Wo"), bias=c.mlp_bias)
        mixer = Branch(pre=None if first else _norm(c, "attn_norm"), body=_attention(c, layer_type, causal))
        return Sublayer(branches=(mixer,)), Sublayer(branches=(Branch(pre=_norm(c, "mlp_norm"), body=ffn),))

    made = encoder(
        c, (tokens, _norm(c, "embeddings.norm")), layer, kinds=kinds, layers="layers", after=(_norm(c, "final_norm"),)
    )
    return Tower(
        parts=made.parts, tower="text" if causal else "encoder", model_type=c.model_type, pointer=c.pointer, width=d
    )


def _attention(c: Config, layer_type: str, causal: bool) -> Attention:
    """Both ways a layer sees local_attention positions, a causal one half of them."""
    local = layer_type == "sliding_attention"
    return square_attention(
        size(c, "hidden_size"),
        c.num_attention_heads,
        name="attn",
        names=("q_proj", "k_proj", "v_proj", "Wo"),
        fused="" if causal else "Wqkv",
        bias=c.attention_bias,
        position="rope",
        rotary=rope(c, layer_type),
        window=(c.sliding_window if causal else c.local_attention) if local else None,
        causal=causal,
        cache=causal,
    )


def _norm(c: Config, name: str) -> Norm:
    return layer_norm(name, size(c, "hidden_size"), bias=c.norm_bias, eps=c.norm_eps)


def _transform(c: Config, name: str) -> Block:
    d = size(c, "hidden_size")
    return group(name, linear("dense", d, d, c.classifier_bias), _norm(c, "norm"))


def _decoder(c: Config, name: str, table: str) -> Block:
    tied_to = table if c.tie_word_embeddings else ""
    return linear(name, size(c, "hidden_size"), size(c, "vocab_size"), c.decoder_bias, role="logits", tied_to=tied_to)


def _classifier(c: Config, count: int) -> Block:
    return linear("classifier", size(c, "hidden_size"), count, True, role="logits")


def _label_heads(c: Config, text: Config, tasks: tuple[str, ...]) -> Heads:
    return {task: (head(task, _transform(text, "head"), _classifier(text, num_labels(c))),) for task in tasks}
