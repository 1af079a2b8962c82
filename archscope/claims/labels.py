"""Which label of a model card states which fact. English and Chinese."""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal[
    "layers",
    "hidden_size",
    "heads",
    "kv_heads",
    "head_dim",
    "intermediate_size",
    "expert_width",
    "vocabulary",
    "context",
    "parameters",
    "active_parameters",
    "experts",
    "active_experts",
    "shared_experts",
    "dense_layers",
    "rope_theta",
    "window",
]

_PATTERNS: tuple[tuple[Kind, str], ...] = (
    ("active_parameters", r"(#|total |number of )?(activated|active|activation)[ -]param(eter)?s?( per token)?|激活参数量?"),
    ("parameters", r"(#|total |number of |model )?(total )?param(eter)?s?( count)?|model size|(总)?参数量?|总参数"),
    ("dense_layers", r"(number of |num |# ?)?dense layers"),
    ("layers", r"(number of |number |num |# ?)?(hidden |transformer |decoder )?layers|n_?layers?|num_hidden_layers"
     r"|层数|网络层数"),
    ("kv_heads", r"(number of |num |# ?)?(kv|key[- /]value|key/value) (attention )?heads|num_key_value_heads|n_kv_heads"),
    ("heads", r"(number of |num |# ?)?(attention|query|q|qkv) heads|n_?heads?|num_attention_heads|注意力头数|heads"),
    ("head_dim", r"(attention )?head (dim(ension)?|size|width)s?|d_?head|head_dim"),
    (
        "expert_width",
        r"(moe|expert)( feed[- ]?forward| ffn| mlp)? (hidden |intermediate )?(dim(ension)?|size|width)s?"
        r"|moe_intermediate_size|moe hidden dimension",
    ),
    ("intermediate_size", r"(ffn|mlp|feed[- ]?forward)?( |-)?(intermediate|inner) (dim(ension)?|size|width)s?"
     r"|intermediate_size|ffn (hidden )?(dim(ension)?|size|width)|ffn intermediate size"),
    ("hidden_size", r"(attention |model )?hidden (dim(ension)?s?|size)( size)?|d_?model|hidden_size|model dim(ension)?"
     r"|embedding (size|dim(ension)?)|隐藏层维度|隐藏维度"),
    ("vocabulary", r"vocab(ulary)?( size)?|vocab_size|token embedding|词表大小|词汇表大小"),
    ("context", r"(max(imum)? )?(context|sequence) (length|window)|max(imum)? position embeddings|max_position_embeddings"
     r"|上下文长度|上下文窗口|序列长度"),
    ("shared_experts", r"(number of |num |# ?)?shared experts"),
    ("active_experts", r"(number of |num |# ?)?(activated|active|selected) experts( per token)?|experts per token"
     r"|num_experts_per_tok|top-?k experts"),
    ("experts", r"(number of |num |# ?|total )?(routed )?experts|专家数量?|n_routed_experts|num_experts"),
    ("rope_theta", r"rope (theta|base( frequency)?)|rope_theta"),
    ("window", r"sliding window( size)?"),
)  # fmt: skip
_COMPILED = tuple((kind, re.compile(rf"(?:{pattern})", re.IGNORECASE)) for kind, pattern in _PATTERNS)

_ASIDE = re.compile(r"[(（][^()（）]{0,80}[)）]")


def kind_of(label: str) -> Kind | None:
    """The fact that a label states, None for any other label."""
    plain = clean(_ASIDE.sub(" ", label))
    for kind, pattern in _COMPILED:
        if pattern.fullmatch(plain):
            return kind
    return None


def clean(text: str) -> str:
    """A text without markup, in single spaces; underscores inside words stay."""
    text = re.sub(r"</?[a-zA-Z][^>]{0,80}>", " ", text)
    text = re.sub(r"[*`]+", "", text)
    text = re.sub(r"(?<!\w)_+|_+(?!\w)", "", text)
    return " ".join(text.replace("：", ":").strip(" :|").split())
