"""Goldens for the families: what transformers builds, for configs of our own making.

    python -m archscope.dev.goldens --update [TYPE...]     (needs torch and the transformers of the snapshot)
    python -m archscope.dev.goldens --compare [TYPE...]    (needs neither)

For every model type with a builder: its default config, varied ones, and a varied one for each class of the type. A line of
tests/oracle/goldens.jsonl.xz holds the config, the class, the number of parameters, and a hash over all names and shapes.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import lzma
import random
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from archscope.config import load_schema
from archscope.families import registry

GOLDENS = Path(__file__).resolve().parents[2] / "tests" / "oracle" / "goldens.jsonl.xz"
VARIANTS = 3

WIDTHS = ("hidden_size", "n_embd", "d_model", "dim", "embed_dim")
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads", "decoder_attention_heads")
KV_HEADS = ("num_key_value_heads", "n_kv_heads", "multi_query_group_num", "num_kv_heads")
INNER = (
    "intermediate_size n_inner ffn_dim d_ff encoder_ffn_dim decoder_ffn_dim moe_intermediate_size dense_intermediate_size "
    "shared_expert_intermediate_size moe_shared_expert_intermediate_size ffn_hidden_size mlp_hidden_size"
).split()
LAYERS = (
    "num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers num_decoder_layers depth "
    "num_encoder_layers"
).split()
FLAGS = (
    "attention_bias mlp_bias use_bias qkv_bias bias use_qk_norm qk_norm tie_word_embeddings add_cross_attention "
    "use_parallel_residual parallel_attn multi_query new_decoder_architecture norm_topk_prob use_conv_bias "
    "use_qkv_bias attention_out_bias qk_layernorm alibi is_decoder"
).split()


REPAIRS: dict[str, dict[str, Any]] = {
    "dbrx": {"attn_config": {"kv_n_heads": 2, "clip_qkv": 8.0, "rope_theta": 500000.0}},
    "dots1": {
        "n_routed_experts": 16,
        "n_shared_experts": 2,
        "n_group": 1,
        "topk_group": 1,
        "num_experts_per_tok": 4,
        "first_k_dense_replace": 1,
    },
    "esm": {"vocab_size": 33, "pad_token_id": 1},
    "hunyuan_v1_dense": {"head_dim": 64},
    "hunyuan_v1_moe": {"head_dim": 64, "num_experts": 8, "moe_topk": 2},
    "lfm2_moe": {"layer_types": ["conv", "conv", "full_attention"] * 2, "num_hidden_layers": 6},
    "ministral": {"head_dim": 64},
    "nemotron": {"num_key_value_heads": 8},
}
"""What the defaults of a class lack for a model to be built from them."""


def vary(config: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    """Other sizes and flags that keep the usual relations: heads divide the width, key/value heads divide the heads."""
    out = dict(config)
    heads_of = [name for name in HEADS if isinstance(out.get(name), int) and out[name] > 0]
    width_of = [name for name in WIDTHS if isinstance(out.get(name), int) and out[name] > 0]
    heads = rng.choice((2, 4, 6, 8))
    if heads_of and width_of:
        width = heads * rng.choice((16, 32, 64))
        out.update(dict.fromkeys(heads_of, heads))
        out.update(dict.fromkeys(width_of, width))
        for name in KV_HEADS:
            if isinstance(out.get(name), int) and out[name] > 0:
                out[name] = rng.choice([n for n in (1, 2, 4, heads) if heads % n == 0])
    for name in INNER:
        if isinstance(out.get(name), int) and out[name] > 0:
            out[name] = 16 * rng.randint(3, 30)
    for name in LAYERS:
        if isinstance(out.get(name), int) and out[name] > 0:
            out[name] = rng.randint(2, 7)
    for name in FLAGS:
        if isinstance(out.get(name), bool) and rng.random() < 0.4:
            out[name] = rng.random() < 0.5
    if isinstance(out.get("vocab_size"), int) and out["vocab_size"] > 512 and rng.random() < 0.5:
        out["vocab_size"] = rng.randint(300, 900)
        out.update({name: 1 for name in out if name.endswith("_token_id") and isinstance(out[name], int)})
    if any(config.get(name) != out.get(name) for name in LAYERS):
        for name in ("layer_types", "mlp_layer_types", "no_rope_layers", "layers_block_type"):
            out.pop(name, None)
    return out


def configs(model_type: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and config of everything that is measured for a type. Needs transformers."""
    from transformers import CONFIG_MAPPING

    schema = load_schema(model_type)
    assert schema is not None
    repaired = REPAIRS.get(model_type, {})
    yield "default", {"model_type": model_type, **repaired}
    default = json.loads(CONFIG_MAPPING[model_type](**copy.deepcopy(repaired)).to_json_string(use_diff=False))
    default.pop("architectures", None)
    classes = [name for value in schema.tasks.values() for name in ([value] if isinstance(value, str) else value)]
    for number in range(VARIANTS):
        yield f"variant-{number}", _varied(default, random.Random(f"{model_type}/{number}"))
    for name in dict.fromkeys((*classes, *schema.other_models)):
        if not name.endswith("PreTrainedModel"):
            varied = _varied(default, random.Random(f"{model_type}/{name}"))
            yield name, {**varied, "architectures": [name]}


def _varied(default: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    out = vary(default, rng)
    for name, value in default.items():
        if name.endswith("_config") and isinstance(value, dict) and value:
            out[name] = vary(value, rng)
    return out


def signature(shapes: Mapping[str, tuple[int, ...]]) -> str:
    """A hash over all names and shapes, whatever their order."""
    lines = sorted(f"{name} {'x'.join(str(int(n)) for n in shape)}" for name, shape in shapes.items())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]


def measure(model_types: list[str]) -> Iterator[dict[str, Any]]:
    """A golden for every config that transformers builds."""
    from archscope.errors import IntrospectionError
    from archscope.introspect import instantiate

    for model_type in model_types:
        try:
            named = list(configs(model_type))
        except Exception as error:
            # The defaults of a few config classes do not even make a config.
            print(f"{model_type}: {type(error).__name__}: {str(error)[:100]}", file=sys.stderr)
            continue
        for name, config in named:
            try:
                made = instantiate(config)
            except IntrospectionError as error:
                print(f"{model_type} {name}: {str(error)[:120]}", file=sys.stderr)
                continue
            yield {
                "id": f"{model_type}/{name}",
                "config": config,
                "class": made.model_class,
                "parameters": made.parameters,
                "tensors": len(made.shapes),
                "signature": signature(made.shapes),
            }


def read() -> list[dict[str, Any]]:
    """The committed goldens."""
    if not GOLDENS.exists():
        return []
    with lzma.open(GOLDENS, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write(goldens: list[dict[str, Any]]) -> None:
    """Write the goldens, sorted, so that equal ones make equal bytes."""
    GOLDENS.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(golden, sort_keys=True) for golden in sorted(goldens, key=lambda golden: golden["id"])]
    GOLDENS.write_bytes(lzma.compress("".join(f"{line}\n" for line in lines).encode(), preset=9))


def difference(golden: Mapping[str, Any]) -> str:
    """What archscope says other than the golden, "" where they agree or archscope does not say exact."""
    import archscope

    model = archscope.load(golden["config"])
    if model.fidelity != "exact":
        return "" if model.structure is None or model.structure.architecture.partial else f"fidelity {model.fidelity}"
    total = model.parameters.total if model.parameters is not None else 0
    if total != golden["parameters"]:
        return f"{total:,} parameters, transformers {golden['parameters']:,}"
    same = signature({name: tensor.shape for name, tensor in model.tensors().items()}) == golden["signature"]
    return "" if same else "other names or shapes"


def main(arguments: list[str]) -> int:
    """Update or compare."""
    parser = argparse.ArgumentParser(description="goldens for the families")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("types", nargs="*")
    options = parser.parse_args(arguments)
    wanted = options.types or sorted(registry.index())
    if options.update:
        kept = [golden for golden in read() if golden["id"].split("/")[0] not in wanted]
        write([*kept, *measure(wanted)])
    differing = [(g["id"], difference(g)) for g in read() if g["id"].split("/")[0] in wanted]
    for name, what in differing:
        if what:
            print(f"{name}: {what}")
    print(f"{len(differing)} goldens, {sum(bool(what) for _, what in differing)} differ")
    return int(any(what for _, what in differing))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
