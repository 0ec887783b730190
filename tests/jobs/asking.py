"""Questions to Airflow, as scripts for its own Python; each prints its answer as JSON."""

from __future__ import annotations

DESCRIBE = """
import json, sys
from datetime import datetime
from types import SimpleNamespace

from airflow.dag_processing.dagbag import DagBag
from airflow.serialization.serialized_objects import DagSerialization
from airflow.timetables.base import TimeRestriction
from pendulum import instance

bag = DagBag()
dag = bag.dags["crisp_nightly"]

def describe(task):
    return {
        "after": sorted(task.upstream_task_ids),
        "at once": task.max_active_tis_per_dag,
        "outlets": [asset.name for asset in task.outlets],
        "owner": task.owner,
        "retries": task.retries,
        "first wait, its growth, longest wait": [task.retry_delay.total_seconds(),
            task.retry_exponential_backoff, task.max_retry_delay.total_seconds()],
        "most seconds": task.execution_timeout.total_seconds(),
        "waits for the day before": task.depends_on_past,
        "runs when": task.trigger_rule,
    }

def day_of(logical, after, date):
    logical = logical and datetime.fromisoformat(logical)
    run = SimpleNamespace(logical_date=logical, run_after=datetime.fromisoformat(after))
    return dag.user_defined_macros["day"](run, {"date": date})

def scheduled(count):
    timetable = DagSerialization.deserialize_dag(DagSerialization.serialize_dag(dag)).timetable
    reach = TimeRestriction(earliest=instance(dag.start_date), latest=None, catchup=dag.catchup)
    info = None
    for _ in range(count):
        info = timetable.next_dagrun_info(
            last_automated_data_interval=info and info.data_interval, restriction=reach)
        after = info.run_after.isoformat()
        yield after, day_of(info.logical_date.isoformat(), after, None)

print(json.dumps({
    "dag": {
        "errors": bag.import_errors,
        "dags": sorted(bag.dags),
        "catchup": dag.catchup,
        "days at once": dag.max_active_runs,
        "tags": sorted(dag.tags),
    },
    "tasks": {task.task_id: describe(task) for task in dag.topological_sort()},
    "scheduled": list(scheduled(3)),
    "days": [day_of(*case) for case in json.loads(sys.argv[1])],
}))
"""
"""What the DAG is, and which days runs work on: cases as [logical date, run after, date]."""

READ = """
import json, sys
from dataclasses import asdict
from pathlib import Path
sys.path.insert(0, sys.argv[2].strip('"'))
import crisp_nightly as night
problems = []
for path in map(Path, json.loads(sys.argv[1])):
    try:
        night.read(path)
    except ValueError as error:
        problems.append(str(error))
usual = asdict(night.Nightly(jaeger="", landing="", out="", first_day=None))
def tasks(**lines):
    at = night.Nightly(jaeger="", landing="", out="", first_day=None, **lines)
    return list(night.commands(at))

print(json.dumps({
    "problems": problems,
    "usual": usual,
    "tasks": {
        "usual": tasks(),
        "without anomalies": tasks(anomalies=False, webhook="http://alerts"),
    },
    "Spark's operator": any("spark_submit" in name for name in sys.modules),
}))
"""
"""What the DAG file says to configurations: their paths, and the folder of the file."""
