"""Our checkers against public implementations of IFEval, on generated and on hand-made answers.

Where we differ on purpose, a test below shows both sides:

- Keywords, names of sections and markers are plain text here, regular expressions there.
- An asterisk alone on its line is never a bullet here; there it is one unless it ends the answer.
- A word in capitals is one word here, whatever its apostrophes; there "DON'T", "CANNOT", "GONNA",
  "GOTTA", "WANNA", "GIMME", "LEMME", "'TIS" and "'TWAS" are two each.
- A paragraph beyond the last one cannot be asked for here; there another one is drawn at random.
- A letter that is none of a to z, such as "#", is counted here; there a random letter is instead.
- Languages are decided by py3langid here, by langdetect there.
- Line ends of Windows are line ends here; there a blank line with one divides no paragraphs.
- JSON that is nested too deeply is refused here, an exception there.
"""

import re
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from flashevolve.workloads.instructions.ifeval import CHECKERS
from flashevolve.workloads.instructions.scoring import variants
from tests.workloads.instructions.checked import checked
from tests.workloads.instructions.ifeval.peers import PEERS, Peer, peer

pytestmark = pytest.mark.peers

COUNT, RELATION = st.integers(1, 5), st.sampled_from(["at least", "less than"])
WORD = st.sampled_from(["tea", "Old", "ship", "one", "e", "I"])
WORDS = st.lists(WORD, min_size=1, max_size=3)
PHRASE = st.sampled_from(["The end.", "one tea", 'so "it" is', " Ship "])

VALUES: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "keywords:existence": {"keywords": WORDS},
    "keywords:frequency": {"keyword": WORD, "frequency": COUNT, "relation": RELATION},
    "keywords:forbidden_words": {"forbidden_words": WORDS},
    "keywords:letter_frequency": {
        "letter": st.sampled_from("aeoTzx"),
        "let_frequency": st.integers(1, 12),
        "let_relation": RELATION,
    },
    "length_constraints:number_sentences": {"num_sentences": COUNT, "relation": RELATION},
    "length_constraints:number_paragraphs": {"num_paragraphs": COUNT},
    "length_constraints:number_words": {"num_words": st.integers(1, 12), "relation": RELATION},
    "length_constraints:nth_paragraph_first_word": {
        "num_paragraphs": st.integers(1, 3),
        "nth_paragraph": st.integers(1, 3),
        "first_word": WORD,
    },
    "detectable_content:number_placeholders": {"num_placeholders": COUNT},
    "detectable_content:postscript": {
        "postscript_marker": st.sampled_from(["P.S.", "P.P.S", "Note:"])
    },
    "detectable_format:number_bullet_lists": {"num_bullets": COUNT},
    "detectable_format:number_highlighted_sections": {"num_highlights": COUNT},
    "detectable_format:multiple_sections": {
        "section_spliter": st.sampled_from(["Section", "SECTION ", "Day"]),
        "num_sections": COUNT,
    },
    "combination:repeat_prompt": {"prompt_to_repeat": PHRASE},
    "startend:end_checker": {"end_phrase": PHRASE},
    "change_case:capital_word_frequency": {
        "capital_frequency": COUNT,
        "capital_relation": RELATION,
    },
}
"""Id -> what its values are drawn from; the others take none."""
BY_LANGUAGE = {
    "language:response_language",
    "change_case:english_capital",
    "change_case:english_lowercase",
}

PIECES = [
    *["tea", "Old", "ship", "one", "SHIP", "I", "naïve", "3", "3.5", "Dr.", "e.g.", "A-B", "日本"],
    *[" ", " ", " ", " ", "\n", "\n\n", "\n\n\n", "\t", ". ", ".", "! ", "? ", "...", ", ", "; "],
    *["*", "**", "***", "******", "* ", "- ", "  - ", "---", "+ ", "1. ", "# "],
    *["[x]", "[", "]", "[]", "<<", ">>", "<<Tea>>", "<", '"', "'", '"One', "“", "```", "```json"],
    *["{", "}", '{"a": 1}', "[1, 2]", "null", "P.S.", "p. s.", "P.P.S", "P. P. S", "Note:"],
    *["Section 1", "SECTION2", "Day 3", "Section X", "My answer is yes.", "My answer is no."],
    *["The end.", "one tea", 'so "it" is', "***\n", "\n***\n", "\n******\n", "\n* one", "\n- two"],
]
ANSWERS = st.lists(st.sampled_from(PIECES), max_size=24).map("".join) | st.text(max_size=40)


def of(pieces: list[str], joint: str = "") -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(pieces), min_size=1, max_size=8).map(joint.join)


def framed(before: list[str], after: list[str], within: Any = ANSWERS) -> st.SearchStrategy[str]:
    return st.tuples(st.sampled_from(before), within, st.sampled_from(after)).map("".join)


OPENINGS = framed(["", "'", '"', "'\"", "\"'", "*"], ["", ",", ".", "'s", " tea", "?", "-"], WORD)

NEAR: dict[str, st.SearchStrategy[str]] = {
    "length_constraints:nth_paragraph_first_word": st.lists(
        OPENINGS | st.sampled_from(["", " "]), min_size=1, max_size=4
    ).map("\n\n".join),
    "startend:end_checker": framed([""], ["The end.", "ONE TEA", 'so "it" is', "ship\n", 'end."']),
    "startend:quotation": framed(['"', "", '\n "', "“"], ['"', "", '" \n', "”"]),
    "combination:repeat_prompt": framed(
        ["The end.", "ONE TEA", '\nso "it" is', "ship"], ["", "\n"]
    ),
    "combination:two_responses": of(["******", "\n******\n", "tea", "ship", " ", "***"]),
    "detectable_format:json_format": framed(
        ["", "```json\n", "```JSON", "```", "```\n```json", " "],
        ["", "\n```", "```", "``````"],
        st.sampled_from(['{"a": 1}', "[1, 2]", "null", "NaN", "{'a': 1}", "{", "12", "tea"]),
    ),
    "detectable_format:number_highlighted_sections": of(
        ["*tea*", "**old ship**", "***one***", "*", "**", " ", "\n", "tea"]
    ),
    "detectable_format:multiple_sections": of(
        ["Section 1", "SECTION2", "Day 3", "Day  4", "Section\n5", "section 6", "7 ", " "]
    ),
    "detectable_format:number_bullet_lists": of(
        ["* a", "- b", "**c**", "\t* d", "tea", "", " -e", "*f", "***", "--", "* * g"], "\n"
    ),
}
"""Id -> answers that come near to being right, which random pieces seldom do."""


@pytest.fixture(params=PEERS)
def other(request: pytest.FixtureRequest) -> Peer:
    return peer(request.param)


def both(other: Peer, name: str, answer: str, **values: Any) -> tuple[bool, bool]:
    """Returns whether we take a constraint for met, and whether the peer does."""
    return checked(name, answer, **values).passed, other.passes(name, answer, values)


def test_they_know_the_same_instructions(other: Peer) -> None:
    assert other.ids == CHECKERS.keys()


@pytest.mark.parametrize("name", [name for name in CHECKERS if name not in BY_LANGUAGE])
@settings(max_examples=600, deadline=None)
@given(data=st.data())
def test_generated_answers_get_the_same_verdict(name: str, data: st.DataObject) -> None:
    near = NEAR.get(name, st.nothing())
    answer = data.draw(ANSWERS | near, label="answer")
    values = {key: data.draw(drawn, label=key) for key, drawn in VALUES.get(name, {}).items()}
    if name.endswith("nth_paragraph_first_word"):
        # They draw another paragraph at random where there can be no such one; here it is refused.
        assume(values["nth_paragraph"] <= values["num_paragraphs"])
    if name.endswith("number_sentences"):
        # Less than one: nobody can meet it, here it is refused.
        assume(values["relation"] == "at least" or values["num_sentences"] > 1)
    if name.endswith("number_bullet_lists"):
        answer = re.sub(r"^\s*\*$", "", answer, flags=re.MULTILINE)
    if name.endswith("capital_word_frequency"):
        answer = re.sub(r"['’]", "", answer)
    if "\r" in answer:
        answer = answer.replace("\r", "\n")
    for title in PEERS:
        ours, theirs = both(peer(title), name, answer, **values)
        assert ours is theirs, title


@settings(deadline=None)
@given(ANSWERS)
def test_loose_scoring_tries_the_same_variants(answer: str) -> None:
    listed = peer("if_verifiable").variants
    assert listed is not None
    assert set(variants(answer)) == set(listed(answer))


PASSAGES = {
    "en": "The museum opens at nine, and the children like the old trains most of all.",
    "de": "Das Museum öffnet um neun Uhr, und die Kinder mögen vor allem die alten Züge.",
    "fr": "Le musée ouvre à neuf heures, et les enfants aiment surtout les vieux trains.",
    "es": "El museo abre a las nueve y a los niños les gustan sobre todo los trenes viejos.",
    "it": "Il museo apre alle nove e ai bambini piacciono soprattutto i vecchi treni.",
    "pt": "O museu abre às nove horas e as crianças gostam sobretudo dos comboios antigos.",
    "fi": "Museo aukeaa yhdeksältä, ja lapset pitävät eniten vanhoista junista.",
    "pl": "Muzeum otwiera się o dziewiątej, a dzieci najbardziej lubią stare pociągi.",
    "vi": "Bảo tàng mở cửa lúc chín giờ và trẻ em thích nhất những đoàn tàu cũ.",
    "sw": "Makumbusho yanafunguliwa saa tatu asubuhi na watoto wanapenda sana treni za zamani.",
    "ru": "Музей открывается в девять часов, и дети больше всего любят старые поезда.",
    "uk": "Музей відчиняється о дев'ятій годині, і діти найбільше люблять старі потяги.",
    "bg": "Музеят отваря в девет часа и децата харесват най-много старите влакове.",
    "hi": "संग्रहालय नौ बजे खुलता है और बच्चों को पुरानी रेलगाड़ियाँ सबसे अच्छी लगती हैं।",
    "mr": "संग्रहालय नऊ वाजता उघडते आणि मुलांना जुन्या गाड्या सर्वात जास्त आवडतात.",
    "ne": "संग्रहालय नौ बजे खुल्छ र बालबालिकालाई पुराना रेलहरू सबैभन्दा मन पर्छन्।",
    "bn": "জাদুঘর নয়টায় খোলে এবং শিশুরা পুরানো ট্রেন সবচেয়ে বেশি পছন্দ করে।",
    "ta": "அருங்காட்சியகம் ஒன்பது மணிக்குத் திறக்கிறது, குழந்தைகள் பழைய ரயில்களை விரும்புகிறார்கள்.",
    "te": "మ్యూజియం తొమ్మిది గంటలకు తెరుచుకుంటుంది, పిల్లలకు పాత రైళ్లు చాలా ఇష్టం.",
    "kn": "ವಸ್ತುಸಂಗ್ರಹಾಲಯ ಒಂಬತ್ತು ಗಂಟೆಗೆ ತೆರೆಯುತ್ತದೆ, ಮಕ್ಕಳಿಗೆ ಹಳೆಯ ರೈಲುಗಳು ಇಷ್ಟ.",
    "gu": "સંગ્રહાલય નવ વાગ્યે ખુલે છે અને બાળકોને જૂની ટ્રેનો સૌથી વધુ ગમે છે.",
    "pa": "ਅਜਾਇਬ ਘਰ ਨੌਂ ਵਜੇ ਖੁੱਲ੍ਹਦਾ ਹੈ ਅਤੇ ਬੱਚਿਆਂ ਨੂੰ ਪੁਰਾਣੀਆਂ ਰੇਲਗੱਡੀਆਂ ਪਸੰਦ ਹਨ।",
    "ml": "മ്യൂസിയം ഒമ്പത് മണിക്ക് തുറക്കും, കുട്ടികൾക്ക് പഴയ തീവണ്ടികൾ ഇഷ്ടമാണ്.",
    "th": "พิพิธภัณฑ์เปิดเวลาเก้าโมงเช้า และเด็ก ๆ ชอบรถไฟเก่ามากที่สุด",
    "ko": "박물관은 아홉 시에 문을 열고 아이들은 오래된 기차를 가장 좋아합니다.",
    "ja": "博物館は九時に開き、子どもたちは古い列車がいちばん好きです。",
    "ar": "يفتح المتحف في الساعة التاسعة ويحب الأطفال القطارات القديمة أكثر من أي شيء آخر.",
    "fa": "موزه ساعت نه باز می‌شود و بچه‌ها قطارهای قدیمی را بیشتر از همه دوست دارند.",
    "ur": "عجائب گھر نو بجے کھلتا ہے اور بچوں کو پرانی ریل گاڑیاں سب سے زیادہ پسند ہیں۔",
    "he": "המוזיאון נפתח בשעה תשע והילדים אוהבים יותר מכול את הרכבות הישנות.",
}


@pytest.mark.parametrize("code", PASSAGES)
def test_languages_are_decided_alike_where_a_sentence_is_given(other: Peer, code: str) -> None:
    text = f"{PASSAGES[code]} {PASSAGES[code]}"
    for wanted in (code, "en", "de"):
        ours, theirs = both(other, "language:response_language", text, language=wanted)
        assert ours is theirs is (wanted == code)


@pytest.mark.parametrize(
    ("name", "answer", "met"),
    [
        ("change_case:english_lowercase", PASSAGES["en"].lower(), True),
        ("change_case:english_lowercase", PASSAGES["en"], False),
        ("change_case:english_lowercase", PASSAGES["fr"].lower(), False),
        ("change_case:english_lowercase", "12", False),
        ("change_case:english_capital", PASSAGES["en"], False),
        ("change_case:english_capital", PASSAGES["fr"].upper(), False),
        ("language:response_language", "12", True),
    ],
)
def test_english_in_one_case_is_decided_alike(
    other: Peer, name: str, answer: str, met: bool
) -> None:
    values = {"language": "en"} if name.startswith("language") else {}
    assert both(other, name, answer, **values) == (met, met)


@pytest.mark.parametrize(
    ("name", "answer", "values", "ours"),
    [
        ("keywords:existence", "axb", {"keywords": ["a.b"]}, False),
        (
            "keywords:frequency",
            "axb",
            {"keyword": "a.b", "frequency": 1, "relation": "at least"},
            False,
        ),
        ("keywords:forbidden_words", "axb", {"forbidden_words": ["a.b"]}, True),
        ("detectable_content:postscript", "NxB", {"postscript_marker": "N.B"}, False),
        (
            "detectable_format:multiple_sections",
            "Sexction 1",
            {"section_spliter": "Se.ction", "num_sections": 1},
            False,
        ),
        ("detectable_format:number_bullet_lists", "*\n\n* a", {"num_bullets": 1}, True),
        (
            "change_case:capital_word_frequency",
            "DON'T",
            {"capital_frequency": 2, "capital_relation": "at least"},
            False,
        ),
        *[
            (
                "change_case:capital_word_frequency",
                word,
                {"capital_frequency": 2, "capital_relation": "at least"},
                False,
            )
            for word in ("CANNOT", "GONNA", "GOTTA", "WANNA", "GIMME", "LEMME", "'TIS", "'TWAS")
        ],
        (
            "length_constraints:nth_paragraph_first_word",
            "one\r\n\r\ntwo",
            {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "two"},
            True,
        ),
        ("change_case:english_capital", "SNOW FALLS ON THE ROOF", {}, True),
    ],
)
def test_where_we_differ_on_purpose(
    other: Peer, name: str, answer: str, values: dict[str, Any], ours: bool
) -> None:
    assert both(other, name, answer, **values) == (ours, not ours)


def test_only_ours_counts_what_is_no_letter(other: Peer) -> None:
    values: dict[str, Any] = {"letter": "#", "let_frequency": 2, "let_relation": "at least"}
    assert checked("keywords:letter_frequency", "# #", **values).passed
    assert not other.passes("keywords:letter_frequency", "# #", values)


def test_only_ours_survives_deep_json(other: Peer) -> None:
    answer = "[" * 100_000
    assert not checked("detectable_format:json_format", answer).passed
    with pytest.raises(RecursionError):
        other.passes("detectable_format:json_format", answer, {})
