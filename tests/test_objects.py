"""The store on a real S3 server: whatever happens to who writes, a day is the old or the new."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from crisp import store
from crisp.errors import ConfigError, LakeError
from crisp.locations import filesystem, join
from crisp.store import objects
from crisp.store.publishing import publish
from tests.servers import S3, versitygw

DAY, OTHER = "2026-11-20", "2026-11-21"
OLD, NEW = ("traces old", "rejects old"), ("traces new", "rejects new")

pytestmark = pytest.mark.xdist_group("s3")


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    with versitygw(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def root(s3: S3, request: pytest.FixtureRequest) -> str:
    """A prefix of a bucket of the test's own."""
    number = len(request.node.name) * 1000 + int(time.monotonic() * 1e6) % 1000
    return s3.bucket(f"test-{number}-{time.monotonic_ns()}") + "/deep/lake"


def put(url: str, text: str) -> None:
    system, path = filesystem(url)
    system.pipe_file(path, text.encode())


def content(root: str) -> dict[str, bytes]:
    system, path = filesystem(root)
    return {name.removeprefix(path): system.cat_file(name) for name in system.find(path)}


def commit(root: str, text: str, day: str = DAY) -> None:
    with store.staging(root) as staged:
        for table in ("traces", "rejects"):
            put(join(staged, day, table, "part-0.parquet"), f"{table} {text}")
        store.commit(root, day, join(staged, day), {"text": text})


def seen(root: str, day: str = DAY) -> tuple[str, ...]:
    """What a reader gets of each table."""
    found = []
    for table in ("traces", "rejects"):
        for file in store.files(root, day, table):
            system, path = filesystem(file)
            found.append(system.cat_file(path).decode())
    return tuple(found)


def test_a_day_is_read_as_it_was_committed(root: str) -> None:
    commit(root, "old")
    commit(root, "other", OTHER)
    assert store.days(root) == [DAY, OTHER]
    assert seen(root) == OLD
    assert store.run_record(root, DAY) == {"text": "old"}
    assert store.files(root, DAY, "nothing") == []
    assert store.days(join(root, "nowhere")) == []
    with pytest.raises(LakeError, match="no day 2020-01-01"):
        store.files(root, "2020-01-01", "traces")


def test_the_same_content_again_changes_nothing_but_the_run_record(root: str) -> None:
    commit(root, "old")
    before = content(root)
    with store.staging(root) as staged:
        for table in ("traces", "rejects"):
            put(join(staged, DAY, table, "part-0.parquet"), f"{table} old")
        store.commit(root, DAY, join(staged, DAY), {"text": "later"})
    after = content(root)
    (record,) = (name for name in after if name.endswith("run.json"))
    assert after.pop(record) == b'{"text": "later"}'
    assert before.pop(record) == b'{"text": "old"}'
    assert after == before


def test_the_version_before_stays_for_its_readers(root: str) -> None:
    commit(root, "old")
    system, path = filesystem(store.files(root, DAY, "traces")[0])
    commit(root, "new")
    assert seen(root) == NEW
    assert system.cat_file(path) == b"traces old"


def test_only_what_nobody_can_still_be_writing_is_removed(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(join(root, ".staging-dead", DAY, "half.parquet"), "")
    put(join(root, f"date={DAY}", "v-half", "traces", "part-0.parquet"), "")
    for text in ("old", "new", "third"):
        commit(root, text)
    versions = {name.split("/")[2] for name in content(root) if name.startswith(f"/date={DAY}/v-")}
    assert len(versions) == 4
    time.sleep(2.1)  # object stores tell times in whole seconds
    monkeypatch.setattr(objects, "_LEFT", timedelta(seconds=1))
    commit(root, "fourth")
    left = content(root)
    assert {name.split("/")[1] for name in left} == {f"date={DAY}"}
    versions = {name.split("/")[2] for name in left if name.startswith(f"/date={DAY}/v-")}
    assert len(versions) == 2
    assert seen(root) == ("traces fourth", "rejects fourth")


def test_a_url_that_is_a_pattern_is_refused(root: str) -> None:
    with pytest.raises(ConfigError, match="URL of a place to write to"):
        store.days(f"{root}/out[1]")


class KilledError(BaseException):
    """Stands for a kill: nothing that handles errors may catch it."""


WRITES = ("pipe_file", "copy", "rm")


def killed_commit(root: str, number: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Commit, killed before the ``number``-th request that changes anything; requests made."""
    system, _ = filesystem(root)
    made = 0

    def stepping(real: Any) -> Any:
        def step(*args: Any, **named: Any) -> Any:
            nonlocal made
            made += 1
            if made >= number:
                raise KilledError
            return real(*args, **named)

        return step

    with monkeypatch.context() as patch, suppress(KilledError):
        for name in WRITES:
            patch.setattr(system, name, stepping(getattr(system, name)))
        commit(root, "new")
    return made


def test_a_writer_killed_at_any_request_leaves_the_old_day_or_the_new(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = []
    for number in range(1, 100):
        place = f"{root}{number}"
        commit(place, "old")
        made = killed_commit(place, number, monkeypatch)
        states.append(seen(place))
        text = store.run_record(place, DAY)["text"]
        assert seen(place) == (f"traces {text}", f"rejects {text}")
        commit(place, "third")
        assert seen(place) == ("traces third", "rejects third")
        if made < number:
            break
    assert len(states) > 6
    assert set(states) == {OLD, NEW}
    assert states == sorted(states, key=lambda state: state != OLD)


def killed(*_: object) -> None:
    raise KilledError


def forward(to: str) -> str:
    return f"to {to}"


def test_a_site_is_found_under_one_address_that_is_written_last(
    root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pages(text: str) -> Path:
        folder = tmp_path / text / "site"
        (folder / "endpoint").mkdir(parents=True)
        (folder / "index.html").write_text(text, encoding="utf-8")
        (folder / "endpoint" / "a.html").write_text(f"a {text}", encoding="utf-8")
        return folder

    def first() -> bytes:
        found = content(root)
        return found["/" + found["/index.html"].decode().removeprefix("to ")]

    assert publish(pages("old"), root, forward) == f"{root}/index.html"
    assert first() == b"old"
    system, path = filesystem(root)
    with monkeypatch.context() as patch:
        patch.setattr(system, "put_file", killed)
        with pytest.raises(KilledError):
            publish(pages("new"), root, forward)
    assert first() == b"old"
    publish(pages("newer"), root, forward)
    assert first() == b"newer"
    assert system.info(f"{path}/index.html")["ContentType"] == "text/html"
