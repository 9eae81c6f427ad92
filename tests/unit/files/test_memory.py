"""Memory that is left: of the machine, and of each control group around the process."""

import pytest

from separatrix.files import available_memory, memory

GIB = 2**30


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with 8 GiB available, whose files can be written."""
    monkeypatch.setattr(memory, "PROC", tmp_path / "proc")
    monkeypatch.setattr(memory, "CGROUP", tmp_path / "cgroup")

    def write(name, text):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    write("proc/meminfo", f"MemTotal: {16 * 2**20} kB\nMemAvailable: {8 * 2**20} kB\n")
    return write


def test_the_machine_alone(machine):
    assert available_memory() == 8 * GIB


def test_the_tightest_group_counts_and_cached_files_are_free(machine):
    machine("proc/self/cgroup", "0::/outer/inner\n")
    machine("cgroup/outer/inner/memory.max", "max\n")
    machine("cgroup/outer/inner/memory.current", f"{GIB}\n")
    assert available_memory() == 8 * GIB
    machine("cgroup/outer/memory.max", f"{4 * GIB}\n")
    machine("cgroup/outer/memory.current", f"{3 * GIB}\n")
    assert available_memory() == GIB
    machine("cgroup/outer/memory.stat", f"anon {GIB}\ninactive_file {2 * GIB}\n")
    assert available_memory() == 3 * GIB


def test_groups_of_version_1(machine):
    machine("proc/self/cgroup", "5:cpu:/x\n4:memory:/box\n")
    machine("cgroup/memory/box/memory.limit_in_bytes", f"{2 * GIB}\n")
    machine("cgroup/memory/box/memory.usage_in_bytes", f"{3 * GIB}\n")
    assert available_memory() == 0


def test_a_system_that_tells_nothing_is_asked_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "PROC", tmp_path)
    assert available_memory() > 0


def test_this_machine():
    assert 2**20 < available_memory() < 2**50
