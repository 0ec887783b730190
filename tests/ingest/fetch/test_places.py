"""Where a landing day lies: files appear whole, as other files of the process, or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from crisp.ingest.fetch.places import place
from tests.ingest.fetch.pulling import pulled
from tests.ingest.fetch.serving import serving, store
from tests.servers import versitygw


def test_a_file_may_be_read_by_whom_the_process_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the mask is left alone: threads share it, so none may change it even for a moment."""
    mask = os.umask(0o022)
    os.umask(mask)
    monkeypatch.delattr(os, "umask")
    place(tmp_path).write("service=a/x", b"1")
    assert (tmp_path / "service=a" / "x").stat().st_mode & 0o777 == 0o666 & ~mask


def test_nothing_stays_on_this_machine_of_what_a_killed_fetch_sends_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    where = place(f"memory://{tmp_path.name}")
    with where.aside() as file:
        file.write(b"half a part")
        assert list(tmp_path.iterdir()) == [], "already while it is open"
    file = where.aside()
    file.write(b"a part")
    where.move_in(file, "service=a/x")
    assert where.read("service=a/x") == b"a part"


@pytest.mark.slow
def test_a_folder_made_in_a_console_is_an_empty_one(tmp_path: Path) -> None:
    with versitygw(tmp_path) as s3:
        landing = s3.bucket("landing")
        import fsspec

        system, _ = fsspec.core.url_to_fs(landing)
        for folder in ("date=2023-11-15/", "date=2023-11-15/service=shop/"):
            system.call_s3("put_object", Bucket="landing", Key=folder, Body=b"")
        assert place(f"{landing}/date=2023-11-15").names() == []
        with serving(store([])) as server:
            assert pulled(server.url, landing).complete
