from pathlib import Path

from flashevolve.bench.figures import draw_all
from flashevolve.bench.report import Figure, Line, Report

LINE = Line(label="a", x=(0.0, 1.0), y=(1.0, 2.0), low=(0.5, 1.5), high=(1.5, 2.5))


def report() -> Report:
    curve = Figure(name="curve", title="t", x="x", y="y", lines=(LINE,))
    points = Figure(
        name="points", title="t", x="", y="y", lines=(LINE,), kind="point", ticks=("a", "b")
    )
    return Report(suite="s", about="", head=(), tables=(), figures=(curve, points))


def test_figures_are_drawn_the_same_each_time(tmp_path: Path) -> None:
    first = draw_all(report(), tmp_path / "one", ("svg",))
    second = draw_all(report(), tmp_path / "two", ("svg",))
    assert [path.name for path in first] == ["curve.svg", "points.svg"]
    for one, two in zip(first, second, strict=True):
        assert one.read_bytes() == two.read_bytes()
        assert b"<svg" in one.read_bytes()


def test_points_of_several_arms_stand_side_by_side_on_a_logarithmic_axis(tmp_path: Path) -> None:
    lines = (LINE, Line(label="b", x=(1.0,), y=(100.0,), low=(90.0,), high=(110.0,)))
    figure = Figure(
        name="both", title="t", x="", y="y", lines=lines, kind="point", ticks=("p", "q"), log=True
    )
    (path,) = draw_all(
        Report(suite="s", about="", head=(), tables=(), figures=(figure,)), tmp_path
    )[:1]
    drawn = path.read_text()
    assert ">a<" in drawn
    assert ">b<" in drawn
    assert "10^{2}" in drawn or "10\u00b2" in drawn or "100" in drawn
