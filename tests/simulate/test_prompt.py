from dataclasses import replace

from flashevolve.llm.messages import Message, system, user
from flashevolve.simulate.prompt import take_apart


def test_a_developer_speaks_as_the_system_does() -> None:
    turns = [system("Be kind."), user("Describe a tram.")]
    newer: list[Message] = [replace(turns[0], role="developer"), turns[1]]
    assert take_apart(newer) == take_apart(turns)
    assert take_apart(newer).standing == "Be kind."
