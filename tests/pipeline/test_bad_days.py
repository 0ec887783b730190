"""A day full of bad input: the whole run goes on, and the books balance."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from crisp import schema
from crisp.errors import InputError
from crisp.options import ReportOptions
from crisp.pipeline.places import places
from crisp.pipeline.publish import report
from tests.aggregate.comparing import check_marts
from tests.documents import lines, trace, traces
from tests.ingest.test_bad_input import BROKEN, NAMES, READABLE, UNREADABLE, changed
from tests.running import aggregated, analysed, check_lake, rows, table


def test_a_folder_of_everything_that_is_bad_gives_a_site_of_what_is_good(tmp_path: Path) -> None:
    source = tmp_path / "in 'quoted' [odd] é"
    source.mkdir()
    documents = [document for document, _ in UNREADABLE.values()]
    named = []
    for number, name in enumerate(NAMES.values()):
        one = changed(operationName=name)
        one["spans"][0]["operationName"] = name
        one["processes"]["p1"] |= {
            "serviceName": name,
            "tags": [{"key": "hostname", "value": name}, {"key": "zone", "value": name}],
        }
        named.append(one | {"traceID": f"{number}{name}"})
    readable = [one | {"traceID": what} for what, one in READABLE.items() if "id" not in what]
    (source / "bad.json").write_bytes(lines(documents))
    (source / "named.json").write_bytes(lines(named))
    (source / "readable.json").write_bytes(lines(readable))
    for number, text in enumerate(BROKEN.values()):
        (source / f"broken-{number}.json").write_bytes(text)
        (source / f"broken-{number}.gz").write_bytes(gzip.compress(text)[:-5])
    (source / "empty.json").touch()
    (source / "good.json").write_bytes(lines(traces(30)))
    out = tmp_path / "out"
    result = analysed([source], out, workers=2)
    check_lake(out, result)
    aggregated(out, result.days)
    check_marts(out, result.days)
    where = places(out)
    ids = {tree["trace_id"] for tree in rows(where.lake, "traces")}
    assert ids >= {one["traceID"] for one in traces(30)}
    assert ids >= {one["traceID"] for one in named}
    names = {row["operation"] for row in rows(where.marts, "endpoint_names", result.days[-1])}
    assert names >= set(NAMES.values())
    site = report(
        where,
        scratch=out,
        day=None,
        generated_us=0,
        options=ReportOptions(title="<odd>", jaeger_url="http://j/{trace_id}"),
    )
    assert Path(site.index).is_file()


def test_a_trace_across_midnight_counts_once(tmp_path: Path) -> None:
    """Two roots of one trace, on two days."""
    one = trace("both")
    late = json.loads(json.dumps(one["spans"][0])) | {"spanID": "late"}
    late["startTime"] += 86_400_000_000
    one["spans"].append(late)
    path = tmp_path / "in.json"
    path.write_bytes(lines([one]))
    result = analysed([path], tmp_path)
    assert (result.read, result.analysed, result.trees) == (1, 1, 2)
    assert len(result.days) == 2
    check_lake(tmp_path, result)
    aggregated(tmp_path)
    check_marts(tmp_path, result.days)


def test_rejects_of_a_run_without_a_good_trace_are_told_in_the_error(tmp_path: Path) -> None:
    path = tmp_path / "in.json"
    path.write_bytes(lines([UNREADABLE["no start"][0], UNREADABLE["no spans"][0]]))
    with pytest.raises(InputError, match=r"in\.json.*2 documents.*no-spans.*wrong-type"):
        analysed([path], tmp_path)
    assert not list((tmp_path / "lake").glob("date=*"))


def test_every_table_of_the_lake_has_the_promised_columns(tmp_path: Path) -> None:
    path = tmp_path / "in.json"
    path.write_bytes(lines(traces(3)))
    result = analysed([path], tmp_path)
    marts = aggregated(tmp_path)
    for name, kind in schema.LAKE.items():
        assert table(places(tmp_path).lake, name, result.days[0]).schema.equals(kind)
    for name, kind in schema.MARTS.items():
        if name != "runs":
            assert table(marts, name).schema.equals(kind)
