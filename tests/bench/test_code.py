from pathlib import Path

from flashevolve.bench.code import code_digest


def tree(root: Path, **files: str) -> Path:
    for name, content in files.items():
        path = root / "a" / name.replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


def test_the_digest_tells_contents_and_names_but_not_compiled_files(tmp_path: Path) -> None:
    one = code_digest(tree(tmp_path / "1", m_py="x", n_py="y"))
    assert code_digest(tree(tmp_path / "2", m_py="x", n_py="y", m_pyc="z")) == one
    assert code_digest(tree(tmp_path / "3", m_py="x", n_py="z")) != one
    assert code_digest(tree(tmp_path / "4", m_py="x", o_py="y")) != one


def test_the_package_has_a_digest_of_its_own() -> None:
    assert len(code_digest()) == 12
