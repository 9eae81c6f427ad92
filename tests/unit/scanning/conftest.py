"""A small table in every kind of place, and a PostgreSQL server that lasts as long as the tests."""

import os
import pwd
import subprocess
import tempfile
from glob import glob
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

N, D = 900, 4


@pytest.fixture(scope="session")
def numbers():
    """Rows of three overlapping classes; the columns have different scales and offsets."""
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 3, N)
    X = rng.normal(size=(N, D)) + np.eye(3, D)[codes] * 1.5
    return X * [1.0, 20.0, 0.1, 3.0] + [0.0, 100.0, 5.0, -2.0], codes


@pytest.fixture(scope="session")
def table(numbers):
    """The rows with labels of three kinds, weights, and a count that depends on them."""
    X, codes = numbers
    rng = np.random.default_rng(5)
    return pa.table(
        {
            **{f"x{d}": X[:, d] for d in range(D)},
            "kind": np.array(["ash", "elm", "oak"])[codes],
            "is_oak": codes == 2,
            "weight": rng.uniform(0.5, 2.0, N),
            "count": rng.poisson(1.0 + codes),
        }
    )


@pytest.fixture(scope="session")
def postgres():
    """The address of a server of one's own; skipped with the reason where there can be none."""
    found = sorted(glob("/usr/lib/postgresql/*/bin"))
    if not found:
        pytest.skip("PostgreSQL's server programs are not installed")
    who = {}
    if os.geteuid() == 0:  # which the server refuses to run as
        try:
            owner = pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("the tests run as root, and there is no user postgres to run the server as")
        who = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="pg") as folder:  # a socket's path may have 107 letters
        data = Path(folder, "data")
        data.mkdir()
        if who:
            os.chmod(folder, 0o755)
            os.chown(data, who["user"], who["group"])

        def call(program, *arguments):
            command = [f"{found[-1]}/{program}", "-D", str(data), *arguments]
            with (data.parent / "output").open("w+") as output:  # not a pipe: the server would keep it open
                done = subprocess.run(
                    command, stdout=output, stderr=output, cwd="/", env={"LC_ALL": "C"}, check=False, **who
                )
                output.seek(0)
                return done.returncode, output.read()

        settings = f"-k {data} -c listen_addresses='' -c fsync=off -c shared_buffers=16MB"
        for step in (
            ("initdb", "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8"),
            ("pg_ctl", "-w", "-t", "30", "-o", settings, "-l", str(data / "log"), "start"),
        ):
            status, output = call(*step)
            if status:
                pytest.skip(f"{step[0]} failed: {output[-300:]}")
        try:
            yield f"postgresql://postgres@/postgres?host={data}"
        finally:
            call("pg_ctl", "-m", "immediate", "stop")
