"""Each answer is found a second time, in another way, from what the problem's text says."""

import random
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import factorial, gcd

import pytest

from flashevolve.workloads.aime.problems import MAKERS


def sums(values: Fraction) -> int:
    return values.numerator + values.denominator


def climb(steps: int, largest: int) -> int:
    @cache
    def ways(rest: int) -> int:
        return 1 if rest == 0 else sum(ways(rest - k) for k in range(1, min(rest, largest) + 1))

    return ways(steps) % 1000


def powers(base: int, exponent: int, modulus: int) -> int:
    value = 1
    for _ in range(exponent):
        value = value * base % modulus
    return value


def term(one: int, two: int, p: int, q: int, n: int) -> int:
    for _ in range(n - 1):
        one, two = two, (p * two + q * one) % 1000
    return one % 1000


def dice(sides: int, other: int, divisor: int) -> int:
    rolls = [a + b for a, b in product(range(1, sides + 1), range(1, other + 1))]
    return sums(Fraction(sum(r % divisor == 0 for r in rolls), len(rolls)))


def apart(taken: int, seats: int) -> int:
    """Row by row: whether the seat before is taken is all that counts."""
    free: dict[int, int] = {0: 1}
    used: dict[int, int] = {}
    for _ in range(seats):
        free, used = (
            {k: free.get(k, 0) + used.get(k, 0) for k in {*free, *used}},
            {k + 1: n for k, n in free.items()},
        )
    return (free.get(taken, 0) + used.get(taken, 0)) % 1000


def marbles(red: int, blue: int, green: int) -> int:
    bag = "r" * red + "b" * blue + "g" * green
    pairs = list(combinations(bag, 2))
    return sums(Fraction(sum(a == b for a, b in pairs), len(pairs)))


def pick(a: int, b: int) -> int:
    return (a * b - a - b - gcd(a, b) + 2) // 2


def paths(a: int, b: int, x: int, y: int) -> int:
    @cache
    def ways(i: int, j: int) -> int:
        if min(i, j) < 0 or (i, j) == (x, y):
            return 0
        return 1 if i == j == 0 else ways(i - 1, j) + ways(i, j - 1)

    return ways(a, b) % 1000


def coefficient(k: int, degree: int, power: int) -> int:
    """Counts by inclusion and exclusion."""
    total = 0
    for j in range(power + 1):
        rest = k - j * (degree + 1)
        if rest >= 0:
            up = factorial(rest + power - 1) // factorial(rest) // factorial(power - 1)
            choose = factorial(power) // factorial(j) // factorial(power - j)
            total += (-1) ** j * choose * up
    return total % 1000


def zeros(n: int, base: int) -> int:
    """By Legendre's formula."""
    found: list[int] = []
    for prime in (2, 3, 5, 7):
        e: int = next(e for e in range(9, -1, -1) if base % prime**e == 0)
        if e:
            found.append(sum(n // prime**k for k in range(1, 12)) // e)
    return min(found)


def expected(*cards: int) -> int:
    ordered = sorted(cards)
    n = len(cards)
    return sums(Fraction(sum(i * c for i, c in enumerate(ordered)), n * (n - 1) // 2))


ANSWERS: Mapping[str, Callable[..., int]] = {
    "divisible": lambda n, a, b: len({*range(a, n + 1, a)} - {*range(b, n + 1, b)}),
    "compositions": lambda steps, one, largest, _: climb(steps, largest),
    "power": powers,
    "recurrence": lambda _1, one, _2, two, p, _3, q, _4, _5, n, _6: term(one, two, p, q, n),
    "dice": lambda _1, sides, _2, other, divisor: dice(sides, other, divisor),
    "triangles": lambda p: (p * p + 24) // 48 if p % 2 == 0 else ((p + 3) ** 2 + 24) // 48,
    "divisor-sum": lambda n: sum({x for d in range(1, n + 1) if n % d == 0 for x in (d, n // d)}),
    "apart": lambda taken, seats, _: apart(taken, seats),
    "congruences": lambda r, a, s, b: next(x for x in range(1, 1000) if (x % a, x % b) == (r, s)),
    "series": lambda first, step, n, _: sum(range(first, first + step * n, step)) % 1000,
    "marbles": marbles,
    "lattice": lambda _1, _2, a, _3, _4, b: pick(a, b),
    "coins": lambda a, b, c, n: sum(
        a * x + b * y <= n and (n - a * x - b * y) % c == 0
        for x in range(n // a + 1)
        for y in range(n // b + 1)
    ),
    "digits": lambda length, total, _: (
        sum(sum(map(int, str(k))) == total for k in range(10 ** (length - 1), 10**length)) % 1000
    ),
    "paths": lambda _1, _2, a, b, x, y, _3: paths(a, b, x, y),
    "floors": lambda n, *_: sum(1 for k in range(1, n + 1) for _ in range(k, n + 1, k)) % 1000,
    "coefficient": lambda k, _1, degree, power, *_: coefficient(k, degree, power),
    "zeros": zeros,
    "expected": expected,
    "order": lambda m, base, _: next(n for n in range(1, m) if (base**n - 1) % m == 0),
}
"""Kind -> the answer, of the numbers in the text in their order."""
NUMBERS = re.compile(r"(?<![\w])\d+|(?<=_)\d+|(?<=\{)\d+|\d+(?=[a-z])|(?<=\^)\d+")


@pytest.mark.parametrize("kind", [kind for makers in MAKERS.values() for kind in makers])
def test_an_answer_is_the_same_when_found_in_another_way(kind: str) -> None:
    (maker,) = (makers[kind] for makers in MAKERS.values() if kind in makers)
    rng = random.Random(kind)
    made = [maker(rng, level) for level in (1, 1, 2, 2, 3) for _ in range(3)]
    found = [problem for problem in made if problem is not None]
    assert len(found) >= 3
    for problem in found:
        numbers = list(map(int, NUMBERS.findall(problem.text)))
        assert ANSWERS[kind](*numbers) == problem.answer, problem.text
        assert problem.solution
