"""Types without a builder: introspected, read off the weights, guessed, or nothing."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import archscope
from archscope import introspect
from archscope.blocks.from_tensors import from_tensors
from archscope.errors import IntrospectionError
from archscope.introspect import Instance

UNKNOWN = {
    "model_type": "never_seen",
    "architectures": ["NeverSeenForCausalLM"],
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 32,
    "intermediate_size": 24,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": False,
}
SHAPES: Mapping[str, tuple[int, ...]] = {
    "model.embed.weight": (32, 16),
    **{f"model.layers.{i}.mixer.w.weight": (16, 16) for i in range(3)},
    **{f"model.layers.{i}.norm.weight": (16,) for i in range(3)},
    "model.layers.1.extra": (4, 4, 4),
    "model.steps": (1,),
    "lm_head.weight": (32, 16),
}
PARAMETERS = 32 * 16 * 2 + 3 * (16 * 16 + 16) + 64


def save(
    folder: Path, shapes: Mapping[str, tuple[int, ...]], config: Mapping[str, Any] = UNKNOWN, **dtypes: str
) -> Path:
    """A repository whose weights are a header, and as many zero bytes as it promises."""
    header, end = {}, 0
    for name, shape in shapes.items():
        size = 4
        for n in shape:
            size *= n
        dtype = dtypes.get(name.replace(".", "_"), "F32")
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + bytes(end))
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def pretend(monkeypatch: pytest.MonkeyPatch, answer: Instance | Exception, *types: str) -> None:
    """Let an imagined transformers know some types."""

    def instantiate(raw: Mapping[str, Any]) -> Instance:
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(introspect, "available", lambda: True)
    monkeypatch.setattr(introspect, "knows", lambda model_type: model_type in types)
    monkeypatch.setattr(introspect, "instantiate", instantiate)


INSTANCE = Instance("NeverSeenForCausalLM", SHAPES, frozenset({"model.steps"}), PARAMETERS, (), "6.0.0")


@pytest.fixture(autouse=True)
def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(introspect, "available", lambda: False)


def test_stored_tensors_become_a_structure(tmp_path: Path) -> None:
    model = archscope.load(save(tmp_path, SHAPES, model_steps="I64"))
    assert model.fidelity == "from-weights"
    assert {name: tensor.shape for name, tensor in model.tensors().items()} == SHAPES
    assert model.parameters is not None
    assert (model.parameters.total, model.parameters.buffers) == (PARAMETERS, 1)
    assert "fidelity: from-weights" in str(model.draw())


def test_equal_layers_are_one_kind(tmp_path: Path) -> None:
    structure = archscope.load(save(tmp_path, SHAPES)).structure
    assert structure is not None
    (stack,) = structure.architecture.towers[0].stacks
    assert (len(stack), len(stack.layers), stack.order) == (3, 2, (0, 1, 0))


def test_buffers_that_loading_ignores_are_left_out(tmp_path: Path) -> None:
    model = archscope.load(save(tmp_path, {**SHAPES, "model.layers.0.rotary_emb.inv_freq": (8,)}))
    assert model.tensors().keys() == SHAPES.keys()


@pytest.mark.parametrize("name", ["model.layers.0.mixer.w.qweight", "model.layers.0.mixer.w.weight_scale_inv"])
def test_packed_weights_tell_no_shapes(tmp_path: Path, name: str) -> None:
    assert archscope.load(save(tmp_path, {**SHAPES, name: (4, 4)})).fidelity == "inferred"


def test_an_index_alone_tells_no_shapes(tmp_path: Path) -> None:
    index = {"weight_map": dict.fromkeys(SHAPES, "model.safetensors")}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    (tmp_path / "config.json").write_text(json.dumps(UNKNOWN), encoding="utf-8")
    assert archscope.load(tmp_path).fidelity == "inferred"


def test_weights_of_a_known_type_change_nothing(tmp_path: Path) -> None:
    config = {**UNKNOWN, "model_type": "llama", "architectures": ["LlamaForCausalLM"]}
    assert archscope.load(save(tmp_path, SHAPES, config)).fidelity == "exact"


def test_the_installed_transformers_comes_before_the_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, INSTANCE, "never_seen")
    model = archscope.load(save(tmp_path, {"other.weight": (2, 2)}))
    assert model.fidelity == "introspected"
    assert model.tensors().keys() == SHAPES.keys()
    assert model.parameters is not None
    assert (model.parameters.total, model.parameters.buffers) == (PARAMETERS, 1)
    assert "fidelity: introspected" in str(model.draw())


def test_checking_never_asks_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, AssertionError("nobody asked for a structure"), "never_seen")
    model = archscope.load(UNKNOWN)
    assert "internal-error" not in {one.rule for one in model.diagnostics}
    assert model.built is None


def test_values_that_transformers_refuses_lead_to_the_next_best(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, IntrospectionError("no"), "never_seen")
    assert archscope.load(UNKNOWN).fidelity == "inferred"


def test_implausible_counts_are_not_built_by_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, AssertionError("this would take forever"), "never_seen")
    assert archscope.load({**UNKNOWN, "num_hidden_layers": 10**9}).structure is None


def test_field_names_make_a_decoder() -> None:
    model = archscope.load(UNKNOWN)
    assert model.fidelity == "inferred"
    assert model.parameters is not None
    layer = 4 * 16 * 16 + 3 * 16 * 24 + 2 * 16
    assert model.parameters.total == 2 * 32 * 16 + 2 * layer + 16
    assert "guessed from the names of fields" in str(model.draw())


EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8}
LATENT = {"kv_lora_rank": 8, "qk_nope_head_dim": 4, "qk_rope_head_dim": 2, "v_head_dim": 4}


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        (EXPERTS, "model.layers.1.mlp.experts.3.up_proj.weight"),
        ({**EXPERTS, "n_shared_experts": 1}, "model.layers.1.mlp.shared_experts.up_proj.weight"),
        (LATENT, "model.layers.0.self_attn.kv_b_proj.weight"),
        ({"attention_bias": True}, "model.layers.0.self_attn.o_proj.bias"),
        ({"use_qk_norm": True}, "model.layers.0.self_attn.q_norm.weight"),
        ({"hidden_act": "gelu", "intermediate_size": None}, "model.layers.0.mlp.down_proj.weight"),
        ({"architectures": ["NeverSeenForSequenceClassification"]}, "score.weight"),
        ({"architectures": ["NeverSeenModel"]}, "norm.weight"),
    ],
)
def test_a_guess_follows_the_usual_fields(fields: dict[str, Any], name: str) -> None:
    assert name in archscope.load({**UNKNOWN, **fields}).tensors()


def test_a_composite_of_unknown_type_has_its_text_part() -> None:
    text = {**UNKNOWN, "model_type": "llama", "architectures": ["LlamaForCausalLM"]}
    config = {"model_type": "never_seen_vl", "text_config": text, "vision_config": {"hidden_size": 8}}
    model = archscope.load(config)
    assert "language_model.model.layers.1.mlp.up_proj.weight" in model.tensors()
    assert "vision_config" in str(model.draw())


@pytest.mark.parametrize("change", [{"hidden_size": None}, {"vocab_size": "many"}, {"is_encoder_decoder": True},
                                    {"num_attention_heads": 0}, {"hidden_size": 10**30}])  # fmt: skip
def test_fields_that_make_no_decoder_make_nothing(change: dict[str, Any]) -> None:
    model = archscope.load({**UNKNOWN, **change})
    assert model.structure is None
    assert (model.fidelity, model.parameters, model.tensors()) == ("inferred", None, {})


def test_a_guess_is_no_reason_for_an_error() -> None:
    model = archscope.load({**UNKNOWN, "num_key_value_heads": 3, "auto_map": {"AutoConfig": "a.B"}})
    assert model.fidelity == "inferred"
    assert "indivisible-kv-heads" not in {one.rule for one in model.diagnostics}


@pytest.mark.parametrize(
    "shapes",
    [
        {},
        {".".join("a" * 100): (1,)},
        {"a..b": (1,)},
        {"": (1,)},
    ],
)
def test_names_of_no_module_make_no_architecture(shapes: Mapping[str, tuple[int, ...]]) -> None:
    assert from_tensors(shapes) is None


@pytest.mark.parametrize(
    "names",
    [
        ("m.0.w", "m.1.w"),
        ("m.00.w", "m.1.w"),
        ("m.0.w", "m.2.w"),
        ("m.²", "m.1"),
        ("m.1234567890123.w",),
        ("m", "m.w"),
        ("0", "1"),
        ("lm_head.weight", "lm_head.bias"),
        ("norm.weight", "norm.bias", "norm.scale"),
    ],
)
def test_every_name_comes_back_as_it_was(names: tuple[str, ...]) -> None:
    from archscope.structure.tensors import tensors

    made = from_tensors(dict.fromkeys(names, (2, 3)))
    assert made is not None
    assert sorted(tensors(made.parts, "")) == sorted(names)


def test_checking_remote_code_imports_nothing_heavy(root: Path) -> None:
    config = {**UNKNOWN, "model_type": "internlm2"}
    code = f"""
import sys
sys.path.insert(0, {str(root)!r})
import archscope
for model_type in ("internlm2", "never_seen", ""):
    archscope.load({{**{config!r}, "model_type": model_type}}).diagnostics
print(*{{"torch", "transformers"}} & set(sys.modules))
"""
    run = subprocess.run([sys.executable, "-I", "-X", "utf8", "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""


@pytest.mark.torch
def test_transformers_builds_what_archscope_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.undo()
    config = {
        "model_type": "seggpt",
        "architectures": ["SegGptModel"],
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "mlp_dim": 48,
        "image_size": [32, 32],
        "patch_size": 16,
        "pretrain_image_size": 32,
        "merge_index": 0,
        "intermediate_hidden_state_indices": [1],
    }
    model = archscope.load(config)
    assert model.built is None
    assert model.fidelity == "introspected"
    instance = introspect.instantiate(config)
    assert {name: tuple(tensor.shape) for name, tensor in model.tensors().items()} == instance.shapes
    assert model.parameters is not None
    assert model.parameters.total == instance.parameters
