"""A cluster gives bit-identical results to one machine, even if a worker is lost during a fit."""

import logging
import os
import signal

import dask
import dask.array as da
import numpy as np
import pytest

import separatrix as sx
from problems import blobs
from separatrix.rows import watched
from separatrix.rows.dask import Dask

pytestmark = pytest.mark.slow
distributed = pytest.importorskip("distributed")

X, y = blobs(3_000, n_classes=3, seed=7, distance=0.8)
WEIGHT = np.random.default_rng(7).integers(1, 4, size=len(X)) / 2
CHUNKS = 250


def model():
    return sx.LogisticRegression(basis=sx.basis.Polynomial(2))


def lazy():
    return da.from_array(X, chunks=(CHUNKS, 4)), da.from_array(y, chunks=CHUNKS), da.from_array(WEIGHT, chunks=700)


@pytest.fixture(scope="module")
def expected():
    rows, labels, weight = lazy()
    return model().fit(rows, labels, sample_weight=weight)


@pytest.fixture(scope="module")
def client():
    """Local cluster of two processes with one thread each."""
    quiet = {"distributed.logging.distributed": "critical", "distributed.admin.large-graph-warning-threshold": "1GB"}
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with (
        dask.config.set(quiet),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_a_lost_worker_changes_no_bit(client, expected, monkeypatch):
    rows, labels, weight = (each.persist() for each in lazy())
    workers = client.run(os.getpid)
    passes = []
    reduce = Dask.reduce

    def reduce_and_lose_a_worker(self, source, statistic):
        answer = reduce(self, source, statistic)
        passes.append(statistic)
        if len(passes) == 1:
            os.kill(next(iter(workers.values())), signal.SIGKILL)
        return answer

    monkeypatch.setattr(Dask, "reduce", reduce_and_lose_a_worker)
    found = model().fit(rows, labels, sample_weight=weight)
    assert len(passes) > 5
    assert set(client.run(os.getpid).values()) != set(workers.values())
    assert found.coef_.tobytes() == expected.coef_.tobytes()
    assert found.n_passes_ == expected.n_passes_


def test_predictions_are_lazy_on_a_cluster(client):
    fitted = sx.LinearDiscriminantAnalysis().fit(X, y)
    P = fitted.predict_proba(lazy()[0]).persist()
    assert isinstance(P, da.Array)
    np.testing.assert_allclose(P.compute(), fitted.predict_proba(X), rtol=1e-12)


def test_progress_reports_every_partition_and_does_not_change_the_fit(client):
    rows, labels, weight = lazy()
    told = []
    with watched(lambda *progress: told.append(progress)):
        found = sx.LinearDiscriminantAnalysis().fit(rows, labels, sample_weight=weight)
    unwatched = sx.LinearDiscriminantAnalysis().fit(rows, labels, sample_weight=weight)
    assert found.coef_.tobytes() == unwatched.coef_.tobytes()
    assert told == [(CHUNKS * (i + 1), len(X), 1) for i in range(len(X) // CHUNKS)]
