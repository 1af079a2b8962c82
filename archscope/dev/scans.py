"""What the text of transformers' modules says: model classes, tasks, and keys that are read without being declared."""

from __future__ import annotations

import ast
import functools
import inspect
import re
from pathlib import Path
from typing import Any

from archscope.config.procedures.flat import TEXT_AT_TOP

# The tables whose name does not say the task in the form that archscope uses.
_RENAMED = {"MODEL_MAPPING_NAMES": "model", "MODEL_FOR_AUDIO_TOKENIZATION_NAMES": "audio_tokenization"}
_TABLE = re.compile(r"MODEL_FOR_(\w+)_MAPPING_NAMES")


@functools.lru_cache(maxsize=1)
def _tables() -> dict[str, dict[str, Any]]:
    from transformers.models.auto import modeling_auto

    found: dict[str, dict[str, Any]] = {}
    for name, table in vars(modeling_auto).items():
        match = _TABLE.fullmatch(name)
        task = _RENAMED.get(name) or (match and match[1].lower())
        if task:
            found[task] = dict(table)
    return found


def tasks_of(model_type: str) -> dict[str, Any]:
    """Task -> the class that transformers' auto table of that task gives (a list where it gives several)."""
    found: dict[str, Any] = {}
    for task, table in sorted(_tables().items()):
        if model_type in table:
            entry = table[model_type]
            found[task] = list(entry) if isinstance(entry, tuple) else entry
    return found


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def _modeling_files(cls: Any) -> list[Path]:
    folder = Path(inspect.getfile(cls)).parent
    return sorted(folder.glob("modeling_*.py"))


def model_classes(cls: Any) -> list[str]:
    """The exported model classes of the modeling files beside a config class that are built from that class.

    A class belongs to the config class that it (or the nearest of its bases) names in an annotation or as
    `config_class`; a class that names none belongs to every config class of the folder.
    """
    found: list[str] = []
    for path in _modeling_files(cls):
        nodes = {n.name: n for n in _tree(path).body if isinstance(n, ast.ClassDef)}
        exported = _exported(path)
        for name, node in nodes.items():
            if name in exported and _is_model(node, nodes) and _config_of(node, nodes) in ("", cls.__name__):
                found.append(name)
    return sorted(set(found))


@functools.cache
def _exported(path: Path) -> frozenset[str]:
    for node in _tree(path).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return frozenset(ast.literal_eval(node.value))
    return frozenset()


def _bases(node: ast.ClassDef) -> list[str]:
    return [b.id if isinstance(b, ast.Name) else getattr(b, "attr", "") for b in node.bases]


def _is_model(node: ast.ClassDef, nodes: dict[str, ast.ClassDef]) -> bool:
    for base in _bases(node):
        if base.endswith("PreTrainedModel"):
            return True
        if base in nodes and _is_model(nodes[base], nodes):
            return True
    return False


def _config_of(node: ast.ClassDef, nodes: dict[str, ast.ClassDef]) -> str:
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and getattr(statement.target, "id", "") == "config":
            return ast.unparse(statement.annotation).strip("'\"")
        if isinstance(statement, ast.Assign) and getattr(statement.targets[0], "id", "") == "config_class":
            return ast.unparse(statement.value)
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            for argument in statement.args.args:
                if argument.arg == "config" and argument.annotation is not None:
                    return ast.unparse(argument.annotation).strip("'\"")
    for base in _bases(node):
        if base in nodes and (found := _config_of(nodes[base], nodes)):
            return found
    return ""


def keys_read(cls: Any) -> list[str]:
    """Keys that the class or its models read from the file although the class does not declare them.

    Seen as `kwargs.pop("k")`, `kwargs.get("k")`, `kwargs["k"]`, `"k" in kwargs` or `getattr(self, "k")` in the config
    class and its bases, and as `config.k` or `getattr(config, "k")` in the modeling files beside it. A class whose
    older files hold the fields of the text part at the top reads those too.
    """
    declared = {*getattr(cls, "__dataclass_fields__", ()), *cls.attribute_map}
    declared |= {n for n, _ in inspect.getmembers(cls)}
    found: set[str] = set()
    if cls.__name__ in TEXT_AT_TOP:
        spec = cls.sub_configs_defaults["text_config"]
        text = spec.config_class
        found |= {*getattr(text, "__dataclass_fields__", spec.init_kwargs), *getattr(text, "attribute_map", ())}
    for klass in cls.__mro__:
        if klass.__module__.startswith("transformers.models"):
            path = Path(inspect.getfile(klass))
            node = next((n for n in _tree(path).body if getattr(n, "name", "") == klass.__name__), None)
            if node is not None:
                found |= _kwargs_keys(node) | _own_getattr(node)
    for path in _modeling_files(cls):
        for owner, names in _config_attributes(path):
            known = len(names & declared)
            if owner == cls.__name__ or (not owner and known and 2 * known >= len(names)):
                found |= names
    return sorted(k for k in found - declared if not k.startswith("_"))


def _constant(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _own_getattr(tree: ast.AST) -> set[str]:
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "getattr"]
    return {_constant(c.args[1]) for c in calls if getattr(c.args[0], "id", "") == "self"} - {""}


def _kwargs_keys(tree: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            if getattr(node.func.value, "id", "") == "kwargs" and node.func.attr in ("get", "pop", "setdefault"):
                found.add(_constant(node.args[0]))
        elif isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "kwargs":
            found.add(_constant(node.slice))
        elif isinstance(node, ast.Compare) and getattr(node.comparators[0], "id", "") == "kwargs":
            found.add(_constant(node.left))
    return found - {""}


@functools.cache
def _config_attributes(path: Path) -> tuple[tuple[str, frozenset[str]], ...]:
    """For each class and function of a modeling file: the config class that it names, or "", and what it reads."""
    nodes = {n.name: n for n in _tree(path).body if isinstance(n, ast.ClassDef)}
    found = []
    for node in _tree(path).body:
        if isinstance(node, ast.ClassDef):
            found.append((_config_of(node, nodes), _attributes_in(node)))
        elif isinstance(node, ast.FunctionDef):
            annotations = [ast.unparse(a.annotation) for a in node.args.args if a.arg == "config" and a.annotation]
            found.append((annotations[0].strip("'\"") if annotations else "", _attributes_in(node)))
    return tuple((owner.split(" |")[0], names) for owner, names in found if names)


def _attributes_in(tree: ast.AST) -> frozenset[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "hasattr") and len(node.args) > 1:
            if _is_config(node.args[0]):
                found.add(_constant(node.args[1]))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and _is_config(node.value):
            found.add(node.attr)
    return frozenset(found - {""})


def _is_config(node: ast.expr) -> bool:
    return getattr(node, "id", "") == "config" or (
        getattr(node, "attr", "") == "config" and getattr(getattr(node, "value", None), "id", "") == "self"
    )


# Modules that read any model's config: weights and dtype, rotary tables, masks, caches, generation, task heads.
_SHARED = [
    "modeling_utils.py",
    "modeling_rope_utils.py",
    "masking_utils.py",
    "cache_utils.py",
    "configuration_utils.py",
    "modeling_layers.py",
    "generation/utils.py",
    "generation/configuration_utils.py",
    "models/auto/auto_factory.py",
    "loss/loss_utils.py",
    "integrations/moe.py",
    "integrations/heterogeneity/configuration_utils.py",
]


def keys_read_by_all() -> list[str]:
    """Keys that transformers reads from the config of any model, whatever its class declares."""
    import transformers
    from transformers.configuration_utils import PreTrainedConfig

    folder = Path(transformers.__file__).parent
    found: set[str] = set()
    for name in _SHARED:
        if (folder / name).is_file():
            tree = _tree(folder / name)
            found |= _attributes_in(tree) | {word for word in _own_getattr(tree) if name == "configuration_utils.py"}
    return sorted(k for k in found if not k.startswith("_") and not callable(getattr(PreTrainedConfig, k, None)))
