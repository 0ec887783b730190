"""From days of the lake to models, scores and alerts, one command each."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Annotated

import typer

from crisp.cli import arguments as a
from crisp.cli import show, windows

_Profile = Annotated[
    str | None,
    typer.Option(
        help="hurdle: our network; paper: the one of the CRISP paper; plain: none, only scores that"
        " need no torch. Default: hurdle where torch is installed, else plain.",
    ),
]
_Features = Annotated[
    str | None,
    typer.Option(
        help="scpv (default): times on the critical path; stv: of all call paths, from a lake"
        " made with --all-paths.",
    ),
]
_Flow = Annotated[
    str | None,
    typer.Option(help="Shape of the network's latent distribution: none, planar or realnvp."),
]


def train(
    out: a.Made,
    *,
    date: a.Night = None,
    profile: _Profile = None,
    features: _Features = None,
    charge_callee: Annotated[
        bool | None,
        typer.Option(
            "--charge-callee", help="Count the time of a client's span for the service it calls."
        ),
    ] = None,
    flow: _Flow = None,
    flow_length: Annotated[
        int | None, typer.Option(metavar="K", help="Steps of the flow. Default: 10.")
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(help="Share of normal traces that may be called abnormal. Default: 0.001."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of all that is random. Default: 0.")] = None,
    device: Annotated[
        str | None,
        typer.Option(help="Where networks are trained: auto (default: a GPU if any), cpu, cuda."),
    ] = None,
    settings: a.Settings = None,
    engine: a.EngineName = None,
    master: a.Master = None,
    spark_conf: a.SparkConf = None,
    workers: a.Workers = None,
    memory_limit: a.MemoryLimit = None,
    as_json: a.Json = False,
    quiet: a.Quiet = False,
) -> None:
    """Learn what is normal, one model an endpoint.

    Reads the 14 days of OUT/lake that end with the day, writes OUT/models. Days on which an
    endpoint had an alert are left out for it, for a while.
    """
    from crisp.pipeline import engines
    from crisp.pipeline.alert import days_left_out
    from crisp.pipeline.places import places
    from crisp.pipeline.train import train as stage
    from crisp.pipeline.windows import newest, nightly_window

    began = time.time()
    options = a.train_options(
        settings,
        profile=profile,
        features=features,
        charge_callee=charge_callee,
        flow=flow,
        flow_length=flow_length,
        alpha=alpha,
        seed=seed,
        device=device,
    )
    place = a.engine_options(
        settings,
        engine=engine,
        master=master,
        conf=spark_conf,
        workers=workers,
        memory_limit=memory_limit,
    )
    where = places(engines.reachable(out, place))
    night = windows.parse_day(date) if date is not None else newest(where.lake)
    shown = nightly_window(where.lake, night)
    left_out = days_left_out(where.alerts, shown, a.alert_options(settings))
    with (
        show.progress("training", quiet=quiet or as_json, unit="cells") as on_progress,
        engines.engine(out, place, on_progress) as made,
    ):
        done = stage(where.lake, where.models, shown, made, options, left_out=left_out)
    seconds = round(time.time() - began, 3)
    days = "1 day" if len(shown.days) == 1 else f"{len(shown.days)} days"
    serving = ", ".join(f"{count:,} by {name}" for name, count in done.serves.items())
    show.result(
        {**asdict(done), "models": where.models, "seconds": seconds},
        f"{where.models}: {done.endpoints:,} endpoints, {done.traces:,} traces of {days}"
        f" to {done.day}; served {serving or 'by nothing'}, {seconds:.1f} s",
        as_json=as_json,
    )


def score(
    out: a.Made,
    *,
    date: a.Night = None,
    models_of: Annotated[
        str | None,
        typer.Option(
            "--models",
            metavar="YYYY-MM-DD",
            help="Judge by the models of this day. Default: the newest of a day before; models have"
            " seen the traces of their own days.",
        ),
    ] = None,
    settings: a.Settings = None,
    engine: a.EngineName = None,
    master: a.Master = None,
    spark_conf: a.SparkConf = None,
    workers: a.Workers = None,
    memory_limit: a.MemoryLimit = None,
    as_json: a.Json = False,
    quiet: a.Quiet = False,
) -> None:
    """Score the traces of a day, and compare the day with those before.

    Reads OUT/lake and OUT/models, writes OUT/scores.
    """
    from crisp.pipeline import engines
    from crisp.pipeline.places import places
    from crisp.pipeline.score import score as stage
    from crisp.pipeline.windows import newest

    began = time.time()
    options = a.alert_options(settings)
    place = a.engine_options(
        settings,
        engine=engine,
        master=master,
        conf=spark_conf,
        workers=workers,
        memory_limit=memory_limit,
    )
    where = places(engines.reachable(out, place))
    day = str(windows.parse_day(date) if date is not None else newest(where.lake))
    model_day = str(windows.parse_day(models_of)) if models_of is not None else None
    with (
        show.progress("scoring", quiet=quiet or as_json, unit="cells") as on_progress,
        engines.engine(out, place, on_progress) as made,
    ):
        done = stage(
            where.lake, where.models, where.scores, day, made, options, model_day=model_day
        )
    seconds = round(time.time() - began, 3)
    unsaid = (
        f" ({done.unsaid:,} of {done.endpoints_unsaid:,} endpoints could not be by their p-value,"
        f" which takes {done.calibration_needed:,} calibration traces)"
        if done.unsaid
        else ""
    )
    text = (
        f"{where.scores}: {day} judged by the models to {done.model_day}: {done.endpoints:,}"
        f" endpoints, {done.traces:,} traces, {done.abnormal:,} of them abnormal{unsaid}; endpoints"
        f" that changed: {done.changed:,}, without a model: {done.unjudged:,}; {seconds:.1f} s"
        if done.model_day
        else f"{where.scores}: nothing judged, there are no models of a day before {day}; run crisp"
        " train first"
    )
    show.result({**asdict(done), "scores": where.scores, "seconds": seconds}, text, as_json=as_json)
