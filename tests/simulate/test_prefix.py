from hypothesis import given
from hypothesis import strategies as st

from flashevolve.llm.messages import Message, ToolCall, system, user
from flashevolve.simulate.prefix import PrefixCache, count_tokens, prefix_blocks, text_of

block_lists = st.lists(st.integers(0, 12), max_size=8, unique=True)


@given(st.binary(max_size=400), st.binary(max_size=200), st.binary(max_size=200))
def test_two_texts_share_exactly_the_blocks_of_their_common_prefix(
    shared: bytes, a: bytes, b: bytes
) -> None:
    one, two = prefix_blocks(shared + b"\x00" + a), prefix_blocks(shared + b"\x01" + b)
    n_shared = len(shared) // 64
    assert one[:n_shared] == two[:n_shared]
    assert not set(one[n_shared:]) & set(two[n_shared:])
    assert len(one) == (len(shared) + 1 + len(a)) // 64


def test_block_names_are_the_same_in_every_process() -> None:
    assert prefix_blocks(b"a" * 130) == (2310301013, 4046141068)


def test_tokens_are_estimated_from_bytes_and_rounded_up() -> None:
    assert [count_tokens(b"x" * n) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]


def test_the_text_of_messages_holds_roles_and_tool_calls() -> None:
    call = ToolCall(id="1", name="search", arguments='{"q": "é"}')
    text = text_of(
        [system("S"), user("U"), Message(role="assistant", content="", tool_calls=(call,))]
    )
    assert text.decode() == 'system\nS\nuser\nU\nassistant\n\nsearch{"q": "é"}\n'


def test_a_match_ends_at_the_first_block_that_is_missing() -> None:
    cache = PrefixCache(10)
    cache.add((1, 2, 3))
    assert [cache.match(b) for b in ((1, 2, 3, 4), (1, 9, 3), (9, 2), ())] == [3, 1, 0, 0]


def test_the_least_recently_used_block_is_evicted_and_the_root_outlives_its_branches() -> None:
    cache = PrefixCache(3)
    cache.add((1, 2))
    cache.add((5, 6))
    assert (cache.match((1, 2)), cache.match((5, 6))) == (1, 2)


def test_a_cache_of_no_blocks_never_hits() -> None:
    cache = PrefixCache(0)
    cache.add((1, 2))
    assert (len(cache), cache.match((1, 2))) == (0, 0)


@given(st.lists(block_lists, max_size=10), st.integers(1, 6))
def test_the_cache_stays_within_its_bound_and_keeps_what_was_added_last(
    prompts: list[list[int]], capacity: int
) -> None:
    cache = PrefixCache(capacity)
    for blocks in prompts:
        cache.add(blocks)
        assert len(cache) <= capacity
        assert cache.match(blocks) == min(len(blocks), capacity)
