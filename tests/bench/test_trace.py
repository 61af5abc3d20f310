from tests.bench.made import a_trace, admit, end, select


def test_a_trace_begins_with_the_seed_and_knows_when_the_best_changed() -> None:
    events = [select(1), admit(1, "0", 0.2, ()), end(1, "committed"), select(2), select(3)]
    timed = [(5.0, event) for event in events]
    worse, better = admit(2, "0.3", 0.1, (0,)), admit(3, "0.4", 0.3, (0,))
    trace = a_trace([*timed, (6.0, worse), (7.0, better), (9.0, end(3, "committed"))])
    assert [(best.t_s, best.val) for best in trace.bests] == [(0.0, None), (5.0, 0.2), (7.0, 0.3)]
    assert trace.end_s == 9.0
