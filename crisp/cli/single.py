"""Look at single traces."""

from __future__ import annotations

import json

from crisp.cli import arguments as a
from crisp.cli import show


def path(
    trace: a.OneSource,
    *,
    trace_id: a.TraceId = None,
    service: a.Service = None,
    operation: a.Operation = None,
    roots: a.Roots = None,
    policy: a.Policy = None,
    skew: a.Skew = None,
    async_rule: a.Async = None,
    settings: a.Settings = None,
    as_json: a.Json = False,
) -> None:
    """Print the critical path of a trace.

    As a tree of calls, then in time, then what was corrected or left out. With --json one object
    a line for each analysis root.
    """
    from crisp.pipeline.single import tree_paths

    options = a.run_options(
        settings,
        ingest={"service": service, "operation": operation, "roots": roots},
        path={"policy": policy, "skew": skew, "async_rule": async_rule},
    )
    for tree in tree_paths(trace, options.ingest, options.path, trace_id):
        if as_json:
            show.line(json.dumps(tree.record()))
        else:
            show.tree_path(tree.facts, tree.nodes)
