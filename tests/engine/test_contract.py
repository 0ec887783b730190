"""What every engine promises, on DuckDB and on a Spark cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crisp.engine import Engine, Table
from crisp.errors import CrispError

I64, TEXT = pa.int64(), pa.string()
ROWS = pa.schema([("id", I64), ("name", TEXT)])
ITEM = pa.struct([("a", I64), ("b", TEXT)])
NESTED = pa.schema([("id", I64), ("name", TEXT), ("items", pa.list_(ITEM))])
QUOTED = pa.schema([('a "quoted" name', I64), ("select", TEXT), ("with;semicolon", pa.float64())])


def rows(count: int) -> pa.Table:
    return pa.table({"id": range(count), "name": [f"n{k}" for k in range(count)]}, schema=ROWS)


def listed(engine: Engine, table: Table) -> list[dict[str, Any]]:
    found = engine.collect(table)
    assert found.schema.equals(table.schema)
    return sorted(found.to_pylist(), key=repr)


def test_rows_from_memory_come_back(engine: Engine) -> None:
    assert listed(engine, engine.table(rows(3))) == rows(3).to_pylist()
    assert listed(engine, engine.table(ROWS.empty_table())) == []


def test_rows_from_memory_are_copied(engine: Engine) -> None:
    first, second = engine.table(rows(1)), engine.table(rows(2))
    assert len(listed(engine, first)) == 1
    assert len(listed(engine, second)) == 2


def test_files_are_read_as_one_table(engine: Engine, tmp_path: Path) -> None:
    files = [str(tmp_path / f'it\'s {k}, "odd" [x]*.parquet') for k in range(2)]
    for file in files:
        pq.write_table(rows(2), file)
    assert len(listed(engine, engine.read(files, ROWS))) == 4


def test_no_files_are_an_empty_table(engine: Engine) -> None:
    assert listed(engine, engine.read([], NESTED)) == []


def test_columns_are_read_by_name_and_the_rest_is_left(engine: Engine, tmp_path: Path) -> None:
    path = str(tmp_path / "more.parquet")
    pq.write_table(pa.table({"extra": [1], "name": ["x"], "id": [7]}), path)
    assert listed(engine, engine.read([path], ROWS)) == [{"id": 7, "name": "x"}]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, name FROM rows WHERE id > 0",
        "-- a header\n-- of two lines\nSELECT id, name FROM rows WHERE id > 0",
        "WITH more AS (SELECT * FROM rows WHERE id > 0) SELECT * FROM more",
        "-- header\n\nWITH more AS (\n  SELECT * FROM rows\n)\nSELECT * FROM more WHERE id > 0\n",
        (
            "with\nmore AS (SELECT * FROM rows), most AS (SELECT * FROM more)"
            " SELECT * FROM most WHERE id > 0;"
        ),
        "SELECT name, 'ignored' AS other, CAST(id AS INTEGER) AS id FROM rows WHERE id > 0",
        "SELECT id, name FROM rows WHERE id = 1 UNION ALL SELECT id, name FROM rows WHERE id > 1",
        "SELECT id, name FROM rows WHERE id > 0 ORDER BY id LIMIT 10",
        "SELECT id, name FROM rows WHERE id > 0 -- a last remark",
    ],
)
def test_plain_and_with_queries_give_the_promised_columns(engine: Engine, query: str) -> None:
    table = engine.sql(query, ROWS, rows=engine.table(rows(3)))
    assert table.schema.equals(ROWS)
    assert listed(engine, table) == rows(3).to_pylist()[1:]


def test_results_are_cast_to_the_promised_types(engine: Engine) -> None:
    schema = pa.schema([("n", I64), ("x", pa.float64()), ("t", TEXT), ("yes", pa.bool_())])
    query = "SELECT sum(id) AS n, CAST(1.5 AS DECIMAL(10, 2)) AS x, 7 AS t, 1 AS yes FROM rows"
    (row,) = listed(engine, engine.sql(query, schema, rows=engine.table(rows(3))))
    assert row == {"n": 3, "x": 1.5, "t": "7", "yes": True}


def test_names_that_need_quotes_are_quoted(engine: Engine, tmp_path: Path) -> None:
    made = pa.table([[2, 1], ["b", "a"], [0.5, 1.5]], schema=QUOTED)
    table = engine.sql("SELECT * FROM the_rows", QUOTED, the_rows=engine.table(made))
    engine.write(table, str(tmp_path / "it's"), QUOTED.names)
    again = engine.read([str(tmp_path / "it's" / "part-0.parquet")], QUOTED)
    assert engine.collect(again).to_pylist() == made.to_pylist()[::-1]
    assert listed(engine, engine.keep(again)) == sorted(made.to_pylist(), key=repr)


def test_tables_may_be_named_like_keywords(engine: Engine) -> None:
    query = 'SELECT id, name FROM "order"'
    assert len(listed(engine, engine.sql(query, ROWS, order=engine.table(rows(2))))) == 2


def test_an_exploded_table_has_a_row_for_each_element(engine: Engine) -> None:
    items = [[{"a": 1, "b": "x"}, {"a": 2, "b": "y"}], [], None, [{"a": None, "b": "z"}]]
    made = pa.table(
        {"id": range(4), "name": ["n0", "n1", "n2", "n3"], "items": items}, schema=NESTED
    )
    exploded = engine.explode(engine.table(made), "items", {"owner": "id", "a name": "name"})
    assert exploded.schema.names == ["owner", "a name", "a", "b"]
    assert listed(engine, exploded) == [
        {"owner": 0, "a name": "n0", "a": 1, "b": "x"},
        {"owner": 0, "a name": "n0", "a": 2, "b": "y"},
        {"owner": 3, "a name": "n3", "a": None, "b": "z"},
    ]


def test_an_empty_table_explodes_to_an_empty_one(engine: Engine) -> None:
    exploded = engine.explode(engine.read([], NESTED), "items", {"owner": "id"})
    assert listed(engine, exploded) == []
    assert listed(engine, engine.sql("SELECT * FROM e", exploded.schema, e=exploded)) == []


def test_a_kept_table_is_computed_once(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(rows(2), path)
    read = engine.read([str(path)], ROWS)
    kept = engine.keep(engine.sql("SELECT * FROM read WHERE id < 9", ROWS, read=read))
    path.unlink()
    assert len(listed(engine, kept)) == 2
    assert len(listed(engine, kept)) == 2


def test_rows_are_written_in_the_order_asked_for(engine: Engine, tmp_path: Path) -> None:
    made = pa.table({"id": [3, 1, 2, 1], "name": ["c", "b", "a", "a"]}, schema=ROWS)
    engine.write(engine.table(made), str(tmp_path / "deep" / "new"), ["id", "name"])
    files = list((tmp_path / "deep" / "new").glob("*.parquet"))
    found = [tuple(row.values()) for file in files for row in pq.read_table(file).to_pylist()]
    assert found == [(1, "a"), (1, "b"), (2, "a"), (3, "c")]


def test_an_empty_table_is_written_with_its_columns(engine: Engine, tmp_path: Path) -> None:
    engine.write(engine.read([], NESTED), str(tmp_path / "new"), ["id"])
    (file,) = (tmp_path / "new").glob("*.parquet")
    found = pq.read_table(file)
    assert found.num_rows == 0
    assert found.schema.names == NESTED.names
    assert listed(engine, engine.read([str(file)], NESTED)) == []


def test_the_same_rows_give_the_same_bytes_whatever_the_order(
    engine: Engine, tmp_path: Path
) -> None:
    made = rows(5000)
    for name, table in (("one", made), ("two", made.take(list(reversed(range(5000)))))):
        engine.write(engine.table(table), str(tmp_path / name), ["id", "name"])
    one, two = ((tmp_path / name / "part-0.parquet").read_bytes() for name in ("one", "two"))
    assert one == two


def test_a_damaged_file_is_a_clear_error(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "damaged.parquet"
    path.write_bytes(b"PAR1 this is none PAR1")
    with pytest.raises(CrispError) as caught:
        engine.collect(engine.read([str(path)], ROWS))
    assert "\n" not in str(caught.value)
    assert "damaged.parquet" in str(caught.value)


def test_a_missing_file_is_a_clear_error(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(CrispError, match="gone"):
        engine.collect(engine.read([str(tmp_path / "gone.parquet")], ROWS))
