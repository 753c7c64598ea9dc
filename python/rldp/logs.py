"""Where results go: a run's public numbers, by the packages of Weights & Biases, MLflow and TensorBoard themselves, into files.

Only public/ is read, so nothing is logged that may not be shown."""
from __future__ import annotations

import importlib.util
import math
import os
import pathlib
from typing import TYPE_CHECKING, Any, Callable, Iterator

from .errors import Error

if TYPE_CHECKING:
    from .runs import Run

_SUMMARY = ("guaranteed_epsilon", "delta", "perplexity_before", "perplexity_after", "steps_done", "units", "accuracy_after",
            "value_nats_after", "bits_per_byte_after")


def _need(package: str) -> Any:
    if importlib.util.find_spec(package) is None:
        raise Error(2, f"log_to: {package} is not installed: pip install {package}")
    return importlib.import_module(package)


def _scalars(row: dict[str, Any], before: str = "") -> Iterator[tuple[str, float]]:
    """Numbers of a step, lists by their mean: of radii there may be hundreds."""
    for key, value in row.items():
        if isinstance(value, dict):
            yield from _scalars(value, f"{before}{key}/")
        elif isinstance(value, list) and value and all(isinstance(one, (int, float)) for one in value):
            yield f"{before}{key}_mean", math.fsum(value) / len(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and key != "step":
            yield before + key, float(value)


def _flat(of: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in of.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        elif value is not None:
            yield before + key, value


def _final(run: Run) -> dict[str, float]:
    summary = run.summary if (run.public / "summary.json").exists() else {}
    return {key: summary[key] for key in _SUMMARY if isinstance(summary.get(key), (int, float))}


def _wandb(run: Run, directory: pathlib.Path, **settings: Any) -> str:
    wandb = _need("wandb")
    directory.mkdir(parents=True, exist_ok=True)
    settings = {"project": "rldp", "mode": "offline", "name": run.path.name, **settings}
    with wandb.init(dir=str(directory), config=dict(_flat(run.config)), **settings) as log:
        for row in run.steps:
            log.log(dict(_scalars(row)), step=row["step"])
        log.summary.update(_final(run))
        return str(pathlib.Path(log.dir).parent)


def _mlflow(run: Run, directory: pathlib.Path, **settings: Any) -> str:
    _need("mlflow")
    import mlflow
    from mlflow.entities import Metric, Param
    directory.mkdir(parents=True, exist_ok=True)
    store = f"sqlite:///{directory.resolve() / 'mlflow.db'}"
    client = mlflow.tracking.MlflowClient(tracking_uri=store)
    name = settings.pop("experiment", "rldp")
    found = client.get_experiment_by_name(name)
    experiment = found.experiment_id if found else client.create_experiment(name, artifact_location=(directory.resolve() / "artifacts").as_uri())
    begun = client.create_run(experiment, run_name=settings.pop("name", run.path.name), **settings)
    params = [Param(key, str(value)[:500]) for key, value in _flat(run.config)]
    # A public file has one time for all of a run, so its steps have none.
    metrics = [Metric(key, value, 0, row["step"]) for row in run.steps for key, value in _scalars(row)]
    metrics += [Metric(f"final/{key}", float(value), 0, 0) for key, value in _final(run).items()]
    for start in range(0, len(params), 100):
        client.log_batch(begun.info.run_id, params=params[start:start + 100])
    for start in range(0, len(metrics), 1000):
        client.log_batch(begun.info.run_id, metrics=metrics[start:start + 1000])
    client.set_terminated(begun.info.run_id)
    return store


def _tensorboard(run: Run, directory: pathlib.Path, **settings: Any) -> str:
    _need("tensorboard")
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter
    place = directory / run.path.name
    writer = EventFileWriter(str(place), **settings)
    for row in run.steps:
        values = [Summary.Value(tag=key, simple_value=value) for key, value in _scalars(row)]
        writer.add_event(Event(step=row["step"], summary=Summary(value=values)))
    writer.close()
    return str(place)


_WRITERS: dict[str, Callable[..., str]] = {"wandb": _wandb, "mlflow": _mlflow, "tensorboard": _tensorboard}


def log(run: Run, where: str, directory: str | os.PathLike[str] | None = None, **settings: Any) -> str:
    """The numbers of a run that is over, or as far as it has come. `directory` is ./WHERE by default; `settings` are the package's own.
    Errors: Error 2 for another name, and for a package that is not installed."""
    if where not in _WRITERS:
        raise Error(2, f"log_to: \"{where}\" is none of {', '.join(_WRITERS)}")
    return _WRITERS[where](run, pathlib.Path(directory or where), **settings)
