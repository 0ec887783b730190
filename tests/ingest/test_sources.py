"""Sources: what is found, and how it is dealt out."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crisp.errors import InputError
from crisp.ingest.documents import Piece, Read, read
from crisp.ingest.sources import Shard, find, shards
from tests.documents import lines, traces


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.json", "a.json", "deep/down/c.json", ".hidden/d.json", "_truth.json", "e.txt"):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lines(traces(1)))
    return tmp_path / "in"


@pytest.fixture
def memory() -> Iterator[str]:
    system = fsspec.filesystem("memory")
    for name in ("/bucket/day/a.json", "/bucket/day/b.json", "/bucket/other/c.json"):
        system.pipe_file(name, lines(traces(2)))
    yield "memory://bucket"
    system.rm("/bucket", recursive=True)


def names(sources: list[str]) -> list[str]:
    return [Path(name).name for name, _ in find(sources)]


def test_a_folder_is_searched_at_all_depths_but_not_what_is_hidden(folder: Path) -> None:
    assert names([str(folder)]) == ["a.json", "b.json", "c.json", "e.txt"]


def test_what_is_hidden_is_read_when_it_is_named(folder: Path) -> None:
    assert names([str(folder / "_truth.json")]) == ["_truth.json"]
    assert names([str(folder / ".hidden")]) == ["d.json"]


def test_patterns_find_files_at_all_depths(folder: Path) -> None:
    assert names([f"{folder}/*.json"]) == ["_truth.json", "a.json", "b.json"]
    assert names([f"{folder}/**/*.json"]) == ["_truth.json", "a.json", "b.json", "c.json"]


def test_a_name_with_pattern_characters_is_a_name_where_it_exists(tmp_path: Path) -> None:
    (tmp_path / "[a].json").write_bytes(b"{}")
    assert names([str(tmp_path / "[a].json")]) == ["[a].json"]


def test_files_come_sorted_with_their_sizes_each_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = find([str(folder)])
    assert whole == sorted(whole)
    assert all(size == Path(name).stat().st_size for name, size in whole)
    twice = [str(folder), f"{folder}/", f"{folder}/*.json", str(folder / "a.json"), str(folder)]
    assert [name for name, _ in find(twice) if "_truth" not in name] == [name for name, _ in whole]
    monkeypatch.chdir(folder)
    assert len(find(["./a.json", "a.json", "."])) == len(find(["."]))


def test_urls_of_files_and_of_memory_are_read(folder: Path, memory: str) -> None:
    assert names([f"file://{folder}/a.json"]) == ["a.json"]
    assert names([f"file://{folder}/*.json"]) == ["_truth.json", "a.json", "b.json"]
    assert names([memory]) == ["a.json", "b.json", "c.json"]
    assert names([f"{memory}/day/*.json"]) == ["a.json", "b.json"]
    assert names([f"{memory}/day/a.json"]) == ["a.json"]


def test_urls_give_the_traces_that_files_give(folder: Path, memory: str) -> None:
    plain = documents(shards(find([str(folder / "a.json")])))
    assert documents(shards(find([f"file://{folder}/a.json"]))) == plain
    assert documents(shards(find([f"{memory}/day/a.json"])))[:1] == plain


def test_folders_and_urls_of_folders_hold_the_same_files(folder: Path) -> None:
    assert names([f"file://{folder}"]) == names([str(folder)])


def test_all_that_is_missing_is_named_at_once(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "empty").mkdir()
    bad = [str(tmp_path / "empty"), str(tmp_path / "no.json"), f"{tmp_path}/*.zst", "file:///no/x"]
    with pytest.raises(InputError) as caught:
        find([bad[0], str(folder), *bad[1:]])
    for source in bad:
        assert source in str(caught.value)
    assert str(folder / "a.json") not in str(caught.value)


@pytest.mark.parametrize("source", ["nosuch://x/y", "memory://nobody/home", "s3//typo", ""])
def test_a_source_that_is_none_is_named(source: str) -> None:
    with pytest.raises(InputError) as caught:
        find([source])
    assert str(caught.value).startswith(source or "''")


def test_a_link_to_nothing_is_named_and_not_passed_over(folder: Path) -> None:
    (folder / "gone.json").symlink_to(folder / "nowhere")
    for source in (str(folder / "gone.json"), str(folder)):
        with pytest.raises(InputError, match=r"gone\.json"):
            find([source])


def test_a_pipe_in_a_folder_is_passed_over(folder: Path) -> None:
    os.mkfifo(folder / "pipe.json")
    assert "pipe.json" not in names([str(folder)])


def test_a_file_that_cannot_be_read_is_named() -> None:
    for source in ("/proc/self/mem", "/proc/self"):
        with pytest.raises(InputError, match="cannot be"):
            list(read(Piece(source, 0)))


def documents(dealt: list[Shard]) -> list[Read]:
    return [one for shard in dealt for piece in shard.pieces for one in read(piece)]


@given(target=st.integers(50, 20_000))
def test_shards_of_any_size_hold_every_document_once(
    many: tuple[Path, list[Read]], target: int
) -> None:
    folder, whole = many
    dealt = shards(find([str(folder)]), target)
    assert documents(dealt) == whole
    assert [shard.number for shard in dealt] == list(range(len(dealt)))
    assert all(shard.size == sum(piece.size for piece in shard.pieces) for shard in dealt)
    for shard in dealt:
        assert len(shard.pieces) == 1 or shard.size <= target


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Read]]:
    folder = tmp_path_factory.mktemp("many")
    for number in range(5):
        (folder / f"{number}.json").write_bytes(lines(traces(1 + number * 5)))
        (folder / f"{number}.json.gz").write_bytes(gzip.compress(lines(traces(number))))
    files = find([str(folder)])
    return folder, [one for name, size in files for one in read(Piece(name, size))]


def test_one_large_file_of_lines_becomes_shards_of_about_equal_size(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    path.write_bytes(lines(traces(1000)))
    size = path.stat().st_size
    dealt = shards(find([str(path)]), size // 10)
    assert len(dealt) in (10, 11)
    assert all(abs(shard.size - size / len(dealt)) < 2 for shard in dealt)


def test_packed_files_count_as_what_they_unpack_to(tmp_path: Path) -> None:
    for number in range(4):
        packed = gzip.compress(lines(traces(2000, first=number)))
        (tmp_path / f"{number}.gz").write_bytes(packed)
    size = (tmp_path / "0.gz").stat().st_size
    assert len(shards(find([str(tmp_path)]), size * 10)) == 4
