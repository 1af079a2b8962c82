"""Opening what nobody vouches for."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from archscope.errors import InputError
from archscope.source import Repository, read
from archscope.source.limits import MAX_BYTES

on_unix = pytest.mark.skipif(sys.platform == "win32", reason="needs the special files of Unix")


def test_a_file_is_read_under_the_name_given(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "llama"}')
    assert read(path).name == str(path)
    assert read(path, "shown").name == "shown"
    assert read(str(path)).value == {"model_type": "llama"}


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path / "none" / "none.json"):
        with pytest.raises(InputError, match=r"none\.json does not exist"):
            read(path)
    (tmp_path / "file").write_text("{}")
    with pytest.raises(InputError, match="does not exist"):
        read(tmp_path / "file" / "config.json")


def test_a_path_with_a_nul_is_no_path() -> None:
    with pytest.raises(InputError, match="not a path"):
        read("a\0b")
    with pytest.raises(InputError, match="not a path"):
        _ = Repository.open("a\0b").config


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder"):
        read(tmp_path)


@on_unix
def test_pipes_sockets_and_devices_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is a pipe"):
        read(tmp_path / "pipe")
    with pytest.raises(InputError, match="is a device"):
        read("/dev/zero")
    with socket.socket(socket.AF_UNIX) as server:
        short = os.path.relpath(tmp_path / "s")
        if len(short) > 100:
            pytest.skip("the path of the temporary folder is too long for a socket")
        server.bind(short)
        with pytest.raises(InputError, match="is a socket"):
            read(tmp_path / "s")


@on_unix
def test_a_file_without_permission_is_named(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text("{}")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(InputError, match="permission denied"):
        read(path)


def test_a_large_file_is_refused_without_reading_it(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    with path.open("wb") as file:
        file.truncate(4 * 1024**3)
    document = read(path)
    assert [problem.rule for problem in document.problems] == ["file-too-large"]
    assert document.value is None


def test_a_file_of_the_largest_size_is_read(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(b'{"a": 1}'.ljust(MAX_BYTES))
    assert read(path).value == {"a": 1}
    path.write_bytes(b'{"a": 1}'.ljust(MAX_BYTES + 1))
    assert [problem.rule for problem in read(path).problems] == ["file-too-large"]


def test_a_repository_is_a_folder_a_file_or_a_value(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"a": 1}')
    (tmp_path / "other.json").write_text('{"b": 2}')
    (tmp_path / "inner").mkdir()
    folder = Repository.open(tmp_path)
    assert folder.config.value == {"a": 1}
    assert folder.config.name == os.path.join(str(tmp_path), "config.json")
    assert folder.listing == ("config.json", "other.json")
    assert Repository.open(tmp_path / "other.json").config.value == {"b": 2}
    value = Repository.open({"c": 3})
    assert (value.config.value, value.listing, value.document("other.json")) == ({"c": 3}, (), None)


def test_a_folder_without_config_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no config\.json"):
        _ = Repository.open(tmp_path).config


def test_companions_are_read_on_demand(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "generation_config.json").write_text('{"a": 1,}')
    repository = Repository.open(tmp_path)
    found = repository.document("generation_config.json")
    assert found is not None
    assert [problem.rule for problem in found.problems] == ["trailing-comma"]
    assert repository.document("tokenizer_config.json") is None
    assert repository.document("config.json") is repository.config


@pytest.mark.parametrize("name", ["../secret.json", "/etc/hostname", "", ".", "..", "a/b.json"])
def test_companions_are_plain_names(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.json").write_text("{}")
    (tmp_path / "model").mkdir()
    assert Repository.open(tmp_path / "model").document(name) is None


@on_unix
def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text("{}")
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    (model / "generation_config.json").symlink_to(tmp_path / "secret.json")
    (model / "tokenizer_config.json").symlink_to("config.json")
    repository = Repository.open(model)
    assert repository.document("generation_config.json") is None
    assert repository.document("tokenizer_config.json") is not None


@on_unix
def test_links_into_the_blobs_of_the_hub_cache_are_followed(tmp_path: Path) -> None:
    snapshot = tmp_path / "models--a--b" / "snapshots" / "0123"
    blobs = tmp_path / "models--a--b" / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    (blobs / "abc").write_text('{"a": 1}')
    (snapshot / "generation_config.json").symlink_to(Path("../../blobs/abc"))
    found = Repository.open(snapshot).document("generation_config.json")
    assert found is not None
    assert found.value == {"a": 1}
