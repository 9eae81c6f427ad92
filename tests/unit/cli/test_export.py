import onnx


def test_a_model_for_other_languages(folder, run_json):
    assert run_json("export", "model.sx", "-o", "m.onnx")["files"] == {"onnx": "m.onnx"}
    onnx.checker.check_model(onnx.load("m.onnx"))


def test_only_onnx_and_nothing_replaced(folder, run):
    assert run("export", "model.sx", "-o", "m.txt").exit_code == 4
    (folder / "m.onnx").write_text("precious")
    assert run("export", "model.sx", "-o", "m.onnx").exit_code == 4
    assert (folder / "m.onnx").read_text() == "precious"
