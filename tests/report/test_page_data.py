"""The data of every page of the shop, as other tools read it; `pytest --bless` writes it again."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from crisp.report.site import write_site
from tests.conftest import Golden
from tests.report.shop_changes import with_changes

Marts = dict[str, pa.Table]


@pytest.mark.usefixtures("stub_bundle")
def test_data_of_every_page(shop: Marts, tmp_path: Path, golden: Golden) -> None:
    write_site(with_changes(shop), tmp_path, title="Shop", generated_us=0)
    found = sorted(tmp_path.rglob("*.json"))
    assert {path.stem for path in found} == {path.stem for path in tmp_path.rglob("*.html")}
    for path in found:
        data = json.loads(path.read_text(encoding="utf-8"))
        golden.check(path.name, json.dumps(data, indent=1, sort_keys=True) + "\n")
