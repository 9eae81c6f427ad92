import stat

from separatrix._output import atomic_file


def test_a_file_has_the_rights_that_any_file_has(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    with atomic_file(tmp_path / "new") as file:
        file.write(b"content")
        assert not (tmp_path / "new").exists()
    rights = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "new")]
    assert rights[0] == rights[1]
