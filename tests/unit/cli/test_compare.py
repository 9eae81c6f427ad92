def test_the_comparison_alone_and_no_file(folder, run, run_json):
    words = ("compare", "loans.csv", "--target", "outcome", "--models", "prior,linear")
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert "2 models, 2 classes" in result.stdout
    found = run_json(*words)
    assert [model["name"] for model in found["models"]] == ["linear discriminant", "prior only"]
    assert found["models"][0]["test_log_likelihood"] > found["models"][1]["test_log_likelihood"]
    assert found["files"] == {}
    assert sorted(path.name for path in folder.iterdir()) == ["loans.csv", "model.sx"]
