"""Every table between stages: column, type, unit, meaning. The data dictionary.

Times are int64 microseconds with the unit in the name; ids are signed 64-bit hashes that are
the same on every machine. Days are UTC dates and live in the directory name (``date=…``), not
in the files. A table is only changed together with `VERSION`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from crisp.errors import SchemaError

VERSION = 2

_I64, _F64, _TEXT, _BOOL = pa.int64(), pa.float64(), pa.string(), pa.bool_()


def _column(name: str, kind: pa.DataType, meaning: str) -> pa.Field:
    return pa.field(name, kind, metadata={"meaning": meaning})


def meaning(field: pa.Field) -> str:
    """What a column means, in words."""
    return str((field.metadata or {}).get(b"meaning", b""), "utf-8")


PATH = pa.struct(
    [
        _column("path_id", _I64, "call path, see call_paths"),
        _column("host", _TEXT, "host the spans ran on, '' when unknown"),
        _column("spans", _I64, "spans of this path and host on the critical path"),
        _column("exclusive_us", _I64, "time they themselves hold the critical path"),
        _column("inclusive_us", _I64, "time they and all below them hold it"),
        _column("span_id", _TEXT, "the one that holds it longest, ties to the smallest id"),
        _column("error", _BOOL, "at least one of them failed"),
    ]
)

ENDPOINT_USE = pa.struct(
    [
        _column("endpoint_id", _I64, "endpoint, see endpoint_names"),
        _column("spans", _I64, "its spans in the tree"),
        _column("cp_spans", _I64, "of these, on the critical path"),
        _column("exclusive_us", _I64, "time they hold the critical path"),
        _column("inclusive_us", _I64, "the same with all below; outermost spans only"),
        _column("callers", _I64, "distinct endpoints that call it in this tree"),
    ]
)

ALL_PATH = pa.struct(
    [
        _column("path_id", _I64, "call path, see call_paths"),
        _column("spans", _I64, "spans of this path in the tree, on the critical path or not"),
        _column("duration_us", _I64, "sum of their durations as recorded"),
    ]
)

LEDGER_ENTRY = pa.struct(
    [
        _column("entry", _TEXT, "what was done, a name from LEDGER"),
        _column("spans", _I64, "spans it was done to"),
        _column("amount_us", _I64, "time concerned, 0 where time has no meaning"),
    ]
)

LEDGER: Mapping[str, str] = {
    "clipped_start": "spans starting before their parent, cut to its start",
    "clipped_end": "spans ending after their parent, cut to its end",
    "dropped": "spans wholly outside their parent, left out with their subtrees",
    "pruned": "asynchronous spans nobody waits for, left out with their subtrees",
    "async_tail": "asynchronous work going on after the root had ended",
    "moved": "spans moved to correct clock skew",
    "move_refused": "spans whose skew correction exceeded the limit",
    "lone_server_moved": "only server of a client call, moved into it (policy crisp-oss)",
    "tolerated_overlap": "siblings taken as serial although they overlap a little",
    "orphans": "spans of the trace whose parent is missing",
    "unreachable": "spans of the trace in a cycle or below one",
    "duplicates_dropped": "identical copies of a span, dropped",
    "duplicates_split": "client and server sharing an id, split in two",
    "duplicates_renamed": "different spans sharing an id, renamed",
    "other_references": "references that were not used as the parent",
}

TRACES = pa.schema(
    [
        _column("tree_id", _I64, "stable hash of (trace_id, root_span_id), for joins"),
        _column("endpoint_id", _I64, "entry endpoint: that of the analysis root"),
        _column("trace_id", _TEXT, "trace the tree belongs to"),
        _column("root_span_id", _TEXT, "span at the top of the analysed tree"),
        _column("root_kind", _TEXT, "entry, endpoint or orphan: why it is an analysis root"),
        _column("start_us", _I64, "start of the root, microseconds since 1970 UTC"),
        _column("latency_us", _I64, "duration of the root"),
        _column("weight", _F64, "requests the trace stands for: 1 / sampling probability, else 1"),
        _column("error", _BOOL, "the root failed"),
        _column("spans", _I64, "spans of the tree"),
        _column("unique_endpoints", _I64, "distinct endpoints of the tree"),
        _column("services", _I64, "distinct services of the tree"),
        _column("depth", _I64, "spans on the longest call chain"),
        _column("concurrency", _I64, "largest number of spans open at once, as recorded"),
        _column("cp_spans", _I64, "spans on the critical path"),
        _column("cp_endpoints", _I64, "distinct endpoints on the critical path"),
        _column("cp_paths", _I64, "distinct call paths on the critical path"),
        _column("source", _TEXT, "file or URL the trace was read from"),
        _column("position", _I64, "byte offset of the trace in the decompressed source"),
        _column("paths", pa.list_(PATH), "critical path by call path and host"),
        _column("endpoints", pa.list_(ENDPOINT_USE), "every endpoint of the tree"),
        _column("ledger", pa.list_(LEDGER_ENTRY), "what was corrected or left out, zeros omitted"),
        _column("all_paths", pa.list_(ALL_PATH), "all call paths of the tree; null unless asked"),
    ]
)

CALL_PATHS = pa.schema(
    [
        _column("path_id", _I64, "stable hash of (parent path, endpoint)"),
        _column("parent_id", _I64, "path one call shorter; 0 for the root's own path"),
        _column("depth", _I64, "calls from the analysis root, 1 for the root itself"),
        _column("endpoint_id", _I64, "endpoint at the end of the path"),
    ]
)

CALLS = pa.schema(
    [
        _column("caller_id", _I64, "endpoint of the parent span"),
        _column("endpoint_id", _I64, "endpoint of the child span"),
        _column(
            "spans", _I64, "such calls in all trees read on the day, copies of a trace included"
        ),
    ]
)

ENDPOINT_NAMES = pa.schema(
    [
        _column("endpoint_id", _I64, "stable hash of (service, operation)"),
        _column("service", _TEXT, "service name"),
        _column("operation", _TEXT, "operation name, after templating"),
    ]
)

HOSTS = pa.schema(
    [
        _column("host", _TEXT, "host"),
        _column("service", _TEXT, "service whose process said so: others on the host may differ"),
        _column("attribute", _TEXT, "process tag from the allow-list"),
        _column("value", _TEXT, "its value"),
    ]
)

REJECTS = pa.schema(
    [
        _column("source", _TEXT, "file or URL the document was read from"),
        _column("position", _I64, "byte offset of the document in the decompressed source"),
        _column("trace_id", _TEXT, "trace id where it could be read, else ''"),
        _column("reason", _TEXT, "reason, see crisp.errors.Reject"),
        _column("detail", _TEXT, "what exactly was wrong"),
    ]
)

RUNS = pa.schema(
    [
        _column("date", _TEXT, "UTC day"),
        _column("crisp_version", _TEXT, "version that wrote the day"),
        _column("schema_version", _I64, "version of these tables"),
        _column("policy", _TEXT, "critical path policy"),
        _column("options", _TEXT, "all options as JSON"),
        _column("read", _I64, "documents read: analysed + rejected"),
        _column("analysed", _I64, "traces with at least one analysed tree"),
        _column("rejected", _I64, "documents left out, see rejects"),
        _column(
            "filtered",
            _I64,
            "traces outside the selection, not in read; of a run over several days with its last",
        ),
        _column("trees", _I64, "analysed trees"),
        _column("spans", _I64, "spans of these trees"),
        _column(
            "bytes", _I64, "bytes read, decompressed; of a run over several days with its last"
        ),
        _column("started_us", _I64, "start of the run, microseconds since 1970 UTC"),
        _column("seconds", _F64, "duration of the run"),
    ]
)

LAKE: Mapping[str, pa.Schema] = {
    "traces": TRACES,
    "call_paths": CALL_PATHS,
    "calls": CALLS,
    "endpoint_names": ENDPOINT_NAMES,
    "hosts": HOSTS,
    "rejects": REJECTS,
}

FLEET = pa.schema(
    [
        _column("endpoint_id", _I64, "entry endpoint"),
        _column("service", _TEXT, "its service"),
        _column("operation", _TEXT, "its operation"),
        _column("traces", _I64, "analysed trees"),
        _column("weight", _F64, "requests they stand for"),
        _column("errors", _I64, "trees whose root failed"),
        _column("spans", _I64, "spans of all trees"),
        _column("first_us", _I64, "start of the earliest tree"),
        _column("last_us", _I64, "start of the latest tree"),
        _column("latency_us", _I64, "sum of latencies"),
        _column("p50_us", _F64, "median latency, linear interpolation"),
        _column("p95_us", _F64, "95th percentile of latency"),
        _column("p99_us", _F64, "99th percentile of latency"),
        _column("max_us", _I64, "largest latency"),
        _column("top_endpoint_id", _I64, "endpoint holding the critical path longest in total"),
        _column("top_exclusive_us", _I64, "total time it holds it"),
    ]
)

DAILY = pa.schema(
    [
        _column("endpoint_id", _I64, "entry endpoint"),
        _column("day", _TEXT, "UTC day, YYYY-MM-DD"),
        _column("traces", _I64, "analysed trees of the day"),
        _column("p50_us", _F64, "median latency of the day"),
        _column("p95_us", _F64, "95th percentile of latency of the day"),
        _column("p99_us", _F64, "99th percentile of latency of the day"),
    ]
)

BANDS = pa.schema(
    [
        _column("endpoint_id", _I64, "entry endpoint"),
        _column("band", _I64, "number of the band, 0 for the fastest traces"),
        _column("lo_percentile", _F64, "exclusive lower edge, percent of ranks"),
        _column("hi_percentile", _F64, "inclusive upper edge, percent of ranks"),
        _column("traces", _I64, "trees in the band"),
        _column("weight", _F64, "requests they stand for"),
        _column("lo_us", _I64, "smallest latency in the band"),
        _column("hi_us", _I64, "largest latency in the band"),
        _column("latency_us", _I64, "sum of latencies"),
    ]
)

CCT = pa.schema(
    [
        _column("endpoint_id", _I64, "entry endpoint"),
        _column("path_id", _I64, "call path from its analysis root"),
        _column("band", _I64, "latency band"),
        _column("traces", _I64, "trees of the band with the path on the critical path"),
        _column("weight", _F64, "requests they stand for"),
        _column("spans", _I64, "spans of the path on the critical path, summed"),
        _column("exclusive_us", _I64, "sum of exclusive time"),
        _column("inclusive_us", _I64, "sum of inclusive time"),
        _column("weighted_exclusive_us", _F64, "the same, each tree times its weight"),
        _column("weighted_inclusive_us", _F64, "the same, each tree times its weight"),
        _column("error_traces", _I64, "trees where a span of the path on it failed"),
    ]
)

_PERCENTILES = [
    _column(f"{which}_p{q}_us", _F64, f"{q}th percentile of {which} time per tree, absent = 0")
    for which in ("exclusive", "inclusive")
    for q in (50, 95, 99)
]

PATH_STATS = pa.schema(
    [
        _column("endpoint_id", _I64, "entry endpoint"),
        _column("path_id", _I64, "call path from its analysis root"),
        _column("traces", _I64, "trees with the path on the critical path"),
        *_PERCENTILES,
    ]
)

EXEMPLARS = pa.schema(
    [
        _column("endpoint_id", _I64, "entry endpoint"),
        _column("path_id", _I64, "call path"),
        _column("place", _I64, "1 for the tree in which the path holds longest"),
        _column("trace_id", _TEXT, "trace to look at"),
        _column("span_id", _TEXT, "span to look at"),
        _column("start_us", _I64, "start of the root"),
        _column("latency_us", _I64, "duration of the root"),
        _column("exclusive_us", _I64, "exclusive time of the path in that tree"),
    ]
)

BOTTOM_UP = pa.schema(
    [
        _column("place", _I64, "impact rank, 1 first: by weighted_exclusive_us, entries, name"),
        _column("endpoint_id", _I64, "interior endpoint: called below an entry of another name"),
        _column("service", _TEXT, "its service"),
        _column("operation", _TEXT, "its operation"),
        _column("entries", _I64, "entry endpoints on whose critical path it is"),
        _column("traces", _I64, "trees with it on the critical path"),
        _column("traces_any", _I64, "trees with it anywhere"),
        _column("spans", _I64, "its spans in all trees"),
        _column("cp_spans", _I64, "of these, on the critical path"),
        _column("exclusive_us", _I64, "time it holds critical paths, summed"),
        _column("inclusive_us", _I64, "the same with all below it"),
        _column("weighted_exclusive_us", _F64, "exclusive time, each tree times its weight"),
        _column("exclusive_share", _F64, "weighted exclusive time / weighted latency of all trees"),
        _column("inclusive_share", _F64, "weighted inclusive time / weighted latency of all trees"),
    ]
)

HISTOGRAMS = pa.schema(
    [
        _column("metric", _TEXT, "what was counted, see METRICS"),
        _column("lo", _I64, "inclusive lower edge of the bin"),
        _column("hi", _I64, "exclusive upper edge of the bin"),
        _column("count", _I64, "observations in the bin"),
    ]
)

METRICS: Mapping[str, str] = {
    "spans": "spans per trace",
    "unique_endpoints": "unique endpoints per trace",
    "latency_us": "latency per trace, microseconds",
    "depth": "longest call chain per trace, spans",
    "callers": "unique callers per endpoint, over all traces",
    "cp_spans": "spans on the critical path per trace",
    "concurrency": "spans open at once per trace, at most",
    "cp_endpoints": "unique endpoints on the critical path per trace",
    "appearances": "spans of an endpoint in all traces",
    "cp_appearances": "spans of an endpoint on the critical path of all traces",
}

LEDGERS = pa.schema(
    [
        _column("endpoint_id", _I64, "entry endpoint"),
        _column("entry", _TEXT, "what was done, a name from LEDGER"),
        _column("traces", _I64, "trees it happened in"),
        _column("spans", _I64, "spans it was done to"),
        _column("amount_us", _I64, "time concerned"),
        _column("example", _TEXT, "trace with the largest amount; ties: most spans, smallest id"),
    ]
)

REJECTED = pa.schema(
    [
        _column("reason", _TEXT, "reason, see crisp.errors.Reject"),
        _column("documents", _I64, "documents left out for it"),
        _column("source", _TEXT, "an example: the smallest source name"),
        _column("position", _I64, "byte offset of the example"),
        _column("trace_id", _TEXT, "its trace id where known"),
        _column("detail", _TEXT, "what was wrong with it"),
    ]
)

LATENCIES = pa.schema(
    [
        _column("endpoint_id", _I64, "entry endpoint"),
        _column("band", _I64, "latency band"),
        _column("bucket", _I64, "floor(20 log10(latency + 1)), latency in microseconds"),
        _column("traces", _I64, "trees of the band in the bucket"),
    ]
)

GROUPS = pa.schema(
    [
        _column("endpoint_id", _I64, "entry endpoint"),
        _column("kind", _TEXT, "day, or version: that of the service that served the root"),
        _column("label", _TEXT, "which day or version"),
        _column("traces", _I64, "trees of the group"),
        _column("latency_us", _I64, "sum of latencies"),
    ]
)

GROUP_PATHS = pa.schema(
    [
        _column("endpoint_id", _I64, "entry endpoint"),
        _column("kind", _TEXT, "see groups"),
        _column("label", _TEXT, "see groups"),
        _column("path_id", _I64, "call path from its analysis root"),
        _column("traces", _I64, "trees of the group with the path on the critical path"),
        _column("exclusive_us", _I64, "sum of exclusive time"),
    ]
)

KEPT = pa.schema(
    [
        _column("endpoint_id", _I64, "entry endpoint"),
        _column("tree_id", _I64, "tree whose critical path is kept whole, in kept_paths"),
        _column("band", _I64, "latency band"),
        _column("trace_id", _TEXT, "trace to look at"),
        _column("root_span_id", _TEXT, "span at the top of the tree"),
        _column("start_us", _I64, "start of the root"),
        _column("latency_us", _I64, "duration of the root"),
        _column("error", _BOOL, "the root failed"),
        _column("version", _TEXT, "version of the service that served the root, '' when unknown"),
    ]
)

KEPT_PATHS = pa.schema(
    [
        _column("endpoint_id", _I64, "entry endpoint"),
        _column("tree_id", _I64, "tree, see kept"),
        _column("path_id", _I64, "call path"),
        _column("host", _TEXT, "host the spans ran on, '' when unknown"),
        _column("exclusive_us", _I64, "time they themselves hold the critical path"),
        _column("inclusive_us", _I64, "time they and all below them hold it"),
    ]
)

ERRORS = pa.schema(
    [
        _column("endpoint_id", _I64, "entry endpoint"),
        _column("path_id", _I64, "call path of which a span on the critical path failed"),
        _column("traces", _I64, "trees in which it failed: own + propagated"),
        _column("own", _I64, "of these, none of the calls it made on the critical path failed"),
        _column("propagated", _I64, "of these, such a call failed too: the error came from below"),
        _column("stopped", _I64, "of these, its caller did not fail: the error went no further"),
        _column("stopped_us", _I64, "inclusive time of the stopped ones: spent, then made up for"),
        _column("failed_us", _I64, "inclusive time of all of them"),
    ]
)

REACH = pa.schema(
    [
        _column("endpoint_id", _I64, "interior endpoint, see bottom_up"),
        _column("entry_id", _I64, "entry endpoint on whose critical path it is"),
        _column("place", _I64, "1 for the entry endpoint it costs most"),
        _column("traces", _I64, "trees with it on the critical path"),
        _column("exclusive_us", _I64, "time it holds their critical paths"),
        _column("latency_us", _I64, "sum of latencies of all trees of the entry endpoint"),
    ]
)

MARTS: Mapping[str, pa.Schema] = {
    "fleet": FLEET,
    "daily": DAILY,
    "bands": BANDS,
    "cct": CCT,
    "path_stats": PATH_STATS,
    "exemplars": EXEMPLARS,
    "bottom_up": BOTTOM_UP,
    "histograms": HISTOGRAMS,
    "ledgers": LEDGERS,
    "rejected": REJECTED,
    "latencies": LATENCIES,
    "groups": GROUPS,
    "group_paths": GROUP_PATHS,
    "kept": KEPT,
    "kept_paths": KEPT_PATHS,
    "errors": ERRORS,
    "reach": REACH,
    "hosts": HOSTS,
    "call_paths": CALL_PATHS,
    "endpoint_names": ENDPOINT_NAMES,
    "runs": RUNS,
}

CONTRIBUTION = pa.struct(
    [
        _column("path_id", _I64, "call path"),
        _column("change_us", _I64, "its exclusive time less what is expected of it"),
    ]
)

SCORES = pa.schema(
    [
        _column("endpoint_id", _I64, "entry endpoint"),
        _column("tree_id", _I64, "stable hash of (trace_id, root_span_id)"),
        _column("trace_id", _TEXT, "trace that was scored"),
        _column("root_span_id", _TEXT, "its analysis root"),
        _column("start_us", _I64, "start of the root, microseconds since 1970 UTC"),
        _column("latency_us", _I64, "duration of the root"),
        _column(
            "model", _TEXT, "model that scored it: its profile and the last day it was fitted on"
        ),
        _column("served_by", _TEXT, "score that serves the endpoint, see models"),
        _column("score", _F64, "value of that score; the larger, the less normal"),
        _column("p", _F64, "share of normal traces that score as high; null when it can't be said"),
        _column("p_how", _TEXT, "how p was made, and what limits it"),
        _column("abnormal", _BOOL, "p is at most the level alpha, or an unseen path counts"),
        _column("latency", _F64, "robust z of log latency, absolute"),
        _column("excess", _F64, "sum of what each path took over its 99th percentile, µs"),
        _column("pattern", _F64, "rarity of the set of paths, and largest z of a path"),
        _column("pca", _F64, "distance from the first principal components"),
        _column("isolation", _F64, "isolation forest"),
        _column("expected_us", _I64, "latency expected of a trace with these paths"),
        _column(
            "contributions",
            pa.list_(CONTRIBUTION),
            "paths that changed most; with other_us they add up to latency_us - expected_us",
        ),
        _column("other_us", _I64, "change of all other paths"),
        _column("unseen", pa.list_(_I64), "call paths the model has never seen"),
        _column("unseen_counts", _BOOL, "unseen paths are rare here, so one is abnormal"),
    ]
)

CANDIDATE = pa.struct(
    [
        _column("score", _TEXT, "name of the score"),
        _column("recall", _F64, "share of planted changes it finds at level alpha"),
        _column("auc", _F64, "chance that it puts a planted change above an untouched trace"),
        _column(
            "false_positive_rate", _F64, "share of untouched held-out traces it calls abnormal"
        ),
    ]
)

MODELS = pa.schema(
    [
        _column("endpoint_id", _I64, "entry endpoint"),
        _column("format", _I64, "version of about and tensors"),
        _column("profile", _TEXT, "hurdle, paper or plain"),
        _column("features", _TEXT, "scpv or stv"),
        _column("first_day", _TEXT, "first UTC day of its window"),
        _column("last_day", _TEXT, "last UTC day of its window"),
        _column("traces", _I64, "traces of the window it was given"),
        _column("fit_rows", _I64, "of these, fitted on: the earliest"),
        _column("gate_rows", _I64, "of these, for choosing the score that serves"),
        _column("calibration_rows", _I64, "of these, for p-values: the latest"),
        _column("paths", _I64, "call paths seen"),
        _column("columns", _I64, "columns after folding rare ones"),
        _column("new_path_rate", _F64, "chance that a normal trace has a path never seen before"),
        _column("serves", _TEXT, "score that serves the endpoint"),
        _column("reason", _TEXT, "why that one"),
        _column("candidates", pa.list_(CANDIDATE), "what each score did on held-out traces"),
        _column("trained", _TEXT, "how the VAE came about: cold, warm, kept, or none"),
        _column("trained_day", _TEXT, "last day of the window the VAE was trained on; '' for none"),
        _column(
            "drift", _F64, "change of the traces since then, 0 to 1; above the limit: train again"
        ),
        _column("about", _TEXT, "the model as JSON"),
        _column("tensors", pa.binary(), "its arrays as safetensors"),
    ]
)

SHIFTS = pa.schema(
    [
        _column("endpoint_id", _I64, "entry endpoint"),
        _column("path_id", _I64, "call path; 0 for the endpoint as a whole"),
        _column("test", _TEXT, "what was compared, see TESTS"),
        _column("traces", _I64, "traces of the day that were compared"),
        _column("reference_traces", _I64, "traces of the days before they were compared with"),
        _column("today", _F64, "the value of the day, in the unit of the test"),
        _column("before", _F64, "the value of the days before"),
        _column("change_us", _F64, "mean exclusive time per request, day less days before"),
        _column("inflation", _F64, "variance between days beside chance, at least 1"),
        _column("p", _F64, "chance of such a difference or larger without a change"),
        _column("q", _F64, "the same for all endpoints and paths at once (Benjamini-Hochberg)"),
        _column("changed", _BOOL, "q is at most the level of alerts"),
    ]
)

TESTS: Mapping[str, str] = {
    "latency": "latency, µs: rank test",
    "time": "exclusive time where the path is on the critical path, µs: rank test",
    "presence": "share of traces with the path on the critical path: exact test",
    "error": "share of traces in which the path failed by itself: exact test",
    "failed": "share of traces whose root failed: exact test",
    "abnormal": "traces with a small p-value: beta-binomial test",
}

CHANGED_PATH = pa.struct(
    [
        _column("path_id", _I64, "call path"),
        _column("name", _TEXT, "its endpoints from the root down"),
        _column("test", _TEXT, "test that found it, see TESTS"),
        _column("today", _F64, "the value of the day, in the unit of the test"),
        _column("before", _F64, "the value of the days before"),
        _column("change_us", _F64, "mean exclusive time per request, day less days before"),
        _column("q", _F64, "chance, all endpoints and paths at once"),
    ]
)

EXEMPLAR = pa.struct(
    [
        _column("trace_id", _TEXT, "trace to look at"),
        _column("span_id", _TEXT, "span to look at"),
        _column("start_us", _I64, "start of the root"),
        _column("latency_us", _I64, "duration of the root"),
        _column("time_us", _I64, "exclusive time of the first changed path in it"),
    ]
)

ALERTS = pa.schema(
    [
        _column("alert_id", _TEXT, "stable hash of endpoint and since"),
        _column("endpoint_id", _I64, "endpoint that changed"),
        _column("service", _TEXT, "its service"),
        _column("operation", _TEXT, "its operation"),
        _column("status", _TEXT, "firing, silenced or resolved"),
        _column("severity", _TEXT, "info, warning or critical: by the size of the change"),
        _column("since", _TEXT, "UTC day of the first night it fired"),
        _column("nights", _I64, "nights it has been firing"),
        _column("summary", _TEXT, "the change in one sentence"),
        _column("latency_us", _F64, "mean latency of the day"),
        _column("before_us", _F64, "mean latency of the days before"),
        _column("change_us", _F64, "their difference: the sum over all paths"),
        _column("traces", _I64, "traces of the day that were compared"),
        _column("abnormal", _I64, "of these, abnormal each by itself"),
        _column("paths", pa.list_(CHANGED_PATH), "what changed, the largest change first"),
        _column("exemplars", pa.list_(EXEMPLAR), "traces that show it"),
        _column("silence", _TEXT, "reason of the silence that holds it back, else ''"),
        _column("ended", _TEXT, "why it is over: back to before, or the new normal; else ''"),
    ]
)

ANOMALIES: Mapping[str, pa.Schema] = {
    "scores": SCORES,
    "models": MODELS,
    "shifts": SHIFTS,
    "alerts": ALERTS,
}


def check(table: str, found: pa.Schema, promised: pa.Schema) -> None:
    """Compare the columns and types of a table with what its stage was promised.

    Raises:
        SchemaError: naming every column that is missing or of another type.
    """
    problems = list(_differences(found, promised))
    if problems:
        raise SchemaError(table, problems)


def _differences(found: pa.Schema, promised: pa.Schema) -> Iterable[str]:
    for field in promised:
        place = found.get_field_index(field.name)
        if place < 0:
            yield f"column {field.name} is missing"
        elif not found.field(place).type.equals(field.type):
            yield f"column {field.name} is {found.field(place).type}, not {field.type}"
