"""Problems: what the generator asks, and the answers, found by counting or by exact arithmetic.

No kind of problem is in two splits. Those of the test split come from fields that the other two
lack, so that nothing carries over but how to work and how to state an answer. A maker returns None
where the numbers drawn give an answer above 999.
"""

import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import combinations
from math import comb, factorial, gcd
from typing import NamedTuple


class Problem(NamedTuple):
    """One problem, solved."""

    text: str
    answer: int
    solution: str


Maker = Callable[[random.Random, int], Problem | None]
"""Random numbers and a level from 1 to 3 -> a problem."""
_MOD = "Find the remainder when this number is divided by 1000."


def _divisible(rng: random.Random, level: int) -> Problem:
    a, b = rng.sample(range(3, 8 + 8 * level), 2)
    n = rng.randrange(100, 500 * level)
    count = sum(k % a == 0 and k % b != 0 for k in range(1, n + 1))
    both = a * b // gcd(a, b)
    return Problem(
        f"Find the number of positive integers not exceeding {n} that are divisible by {a} but "
        f"not by {b}.",
        count,
        f"There are {n // a} multiples of {a}. Of these, {n // both} are multiples of {both}, "
        f"which {b} divides as well. {n // a} - {n // both} = {count}.",
    )


def _compositions(rng: random.Random, level: int) -> Problem:
    total, largest = rng.randrange(6, 7 + 6 * level), rng.randrange(2, 6)
    ways = [1]
    for k in range(1, total + 1):
        ways.append(sum(ways[max(0, k - largest) : k]))
    return Problem(
        f"Stairs with {total} steps are climbed by taking 1 to {largest} steps at a time. Count "
        f"the ways, where the order matters. {_MOD}",
        ways[total] % 1000,
        f"The number of ways for k steps is the sum of the {largest} numbers before it, starting "
        f"with 1 for no step. For {total} steps it is {ways[total]}.",
    )


def _power(rng: random.Random, level: int) -> Problem:
    base, exponent = rng.randrange(2, 10 + 20 * level), rng.randrange(20, 10 ** (1 + level))
    modulus = rng.randrange(11, 60 + 300 * (level - 1))
    value = pow(base, exponent, modulus)
    return Problem(
        f"Find the remainder when {base}^{{{exponent}}} is divided by {modulus}.",
        value,
        f"Square and multiply, and reduce each product modulo {modulus}; the last one is {value}.",
    )


def _recurrence(rng: random.Random, level: int) -> Problem:
    p, q, n = rng.randrange(1, 4), rng.randrange(1, 4), rng.randrange(5, 6 + 5 * level)
    one, two = rng.randrange(1, 10), rng.randrange(1, 10)
    terms = [one, two]
    while len(terms) < n:
        terms.append(p * terms[-1] + q * terms[-2])
    return Problem(
        f"A sequence starts with a_1 = {one} and a_2 = {two}, and a_k = {p}a_{{k-1}} + "
        f"{q}a_{{k-2}} for k > 2. Consider a_{{{n}}}. {_MOD}",
        terms[-1] % 1000,
        f"Going on from {one} and {two} gives a_{{{n}}} = {terms[-1]}.",
    )


def _dice(rng: random.Random, level: int) -> Problem | None:
    sides, other = rng.randrange(4, 8 + 4 * level), rng.randrange(4, 8 + 4 * level)
    divisor = rng.randrange(3, 9)
    hits = sum((i + j) % divisor == 0 for i in range(1, sides + 1) for j in range(1, other + 1))
    share = Fraction(hits, sides * other)
    return _reduced(
        f"Two fair dice have the numbers 1 to {sides} and 1 to {other}. The probability that the "
        f"sum of a roll is divisible by {divisor}",
        share,
        f"{hits} of the {sides * other} pairs have such a sum.",
    )


def _triangles(rng: random.Random, level: int) -> Problem:
    perimeter = rng.randrange(12, 20 + 30 * level)
    count = sum(
        a + b > perimeter - a - b >= b for a in range(1, perimeter) for b in range(a, perimeter - a)
    )
    return Problem(
        f"Find the number of triangles, no two of them congruent, whose sides are integers and "
        f"whose perimeter is {perimeter}.",
        count,
        f"Let a <= b <= c with a + b + c = {perimeter} and a + b > c. {count} triples remain.",
    )


def _divisor_sum(rng: random.Random, level: int) -> Problem | None:
    n = rng.randrange(30, 200 * level)
    divisors = [d for d in range(1, n + 1) if n % d == 0]
    return _bounded(
        f"Find the sum of all positive divisors of {n}.",
        sum(divisors),
        f"The divisors are {', '.join(map(str, divisors))}.",
    )


def _apart(rng: random.Random, level: int) -> Problem:
    n = rng.randrange(8, 10 + 4 * level)
    k = rng.randrange(2, (n + 1) // 2)
    count = comb(n - k + 1, k)
    return Problem(
        f"{k} of {n} seats in a row are taken so that no two taken seats are next to each other. "
        f"Count the sets of seats that may be taken. {_MOD}",
        count % 1000,
        f"Taking away the free seat after each taken one but the last leaves {k} of {n - k + 1} "
        f"seats: {count} ways.",
    )


def _congruences(rng: random.Random, level: int) -> Problem:
    a, b = rng.choice([(7, 9), (8, 11), (5, 13), (11, 13), (9, 16), (17, 20), (19, 23), (27, 35)])
    x = rng.randrange(1, a * b)
    return Problem(
        f"Find the least positive integer that leaves the remainder {x % a} when divided by {a} "
        f"and the remainder {x % b} when divided by {b}.",
        x,
        f"Since {a} and {b} have no common factor, one number from 1 to {a * b} fits: {x}.",
    )


def _series(rng: random.Random, level: int) -> Problem:
    first, step = rng.randrange(1, 50), rng.randrange(2, 20 * level)
    n = rng.randrange(10, 60 * level)
    total = n * first + step * n * (n - 1) // 2
    return Problem(
        f"The first term of an arithmetic progression is {first} and the common difference is "
        f"{step}. Consider the sum of its first {n} terms. {_MOD}",
        total % 1000,
        f"The last term is {first + (n - 1) * step}, so the sum is {total}.",
    )


def _marbles(rng: random.Random, level: int) -> Problem | None:
    red, blue, green = (rng.randrange(2, 4 + 4 * level) for _ in range(3))
    total = red + blue + green
    same = comb(red, 2) + comb(blue, 2) + comb(green, 2)
    return _reduced(
        f"A bag holds {red} red, {blue} blue and {green} green marbles. Two are drawn without "
        f"putting the first one back. The probability that they have the same color",
        Fraction(same, comb(total, 2)),
        f"{same} of the {comb(total, 2)} pairs have one color.",
    )


def _lattice(rng: random.Random, level: int) -> Problem | None:
    a, b = rng.randrange(4, 10 + 12 * level), rng.randrange(4, 10 + 12 * level)
    inside = sum(b * x + a * y < a * b for x in range(1, a) for y in range(1, b))
    return _bounded(
        f"Find the number of points with integer coordinates strictly inside the triangle with "
        f"vertices (0,0), ({a},0) and (0,{b}).",
        inside,
        f"The area is {a * b}/2 and {a + b + gcd(a, b)} such points lie on the boundary, so by "
        f"Pick's theorem {inside} lie inside.",
    )


def _coins(rng: random.Random, level: int) -> Problem:
    a, b, c = sorted(rng.sample(range(2, 12), 3))
    n = rng.randrange(30, 60 * level)
    count = sum(
        (n - c * z - b * y) % a == 0 for z in range(n // c + 1) for y in range((n - c * z) // b + 1)
    )
    return Problem(
        f"Find the number of ordered triples (x, y, z) of nonnegative integers with "
        f"{a}x + {b}y + {c}z = {n}.",
        count,
        f"For each z the pairs (x, y) with {a}x + {b}y = {n} - {c}z are counted: {count} in all.",
    )  # fmt: skip


def _digits(rng: random.Random, level: int) -> Problem:
    length, total = 2 + level, rng.randrange(4, 8 + 6 * level)
    ways = {0: 1}
    for place in range(length):
        longer: dict[int, int] = {}
        for so_far, n in ways.items():
            for digit in range(place == 0, 10):
                longer[so_far + digit] = longer.get(so_far + digit, 0) + n
        ways = longer
    count = ways[total]
    return Problem(
        f"Count the {length}-digit positive integers whose digits add up to {total}. {_MOD}",
        count % 1000,
        f"Going through the first digit, then the next ones, gives {count}.",
    )


def _paths(rng: random.Random, level: int) -> Problem:
    a, b = rng.randrange(4, 5 + 2 * level), rng.randrange(4, 5 + 2 * level)
    x, y = rng.randrange(1, a), rng.randrange(1, b)
    barred = comb(x + y, x) * comb(a + b - x - y, a - x)
    count = comb(a + b, a) - barred
    return Problem(
        f"A path goes from (0,0) to ({a},{b}) by unit steps to the right or up and does not pass "
        f"through ({x},{y}). Count such paths. {_MOD}",
        count % 1000,
        f"{barred} of the {comb(a + b, a)} paths pass through the point; {count} do not.",
    )


def _floors(rng: random.Random, level: int) -> Problem:
    n = rng.randrange(10, 250 * level)
    total = sum(n // k for k in range(1, n + 1))
    return Problem(
        f"Let S be the sum of \\lfloor {n}/k \\rfloor over all integers k from 1 to {n}. {_MOD}",
        total % 1000,
        f"S = {total}.",
    )


def _coefficient(rng: random.Random, level: int) -> Problem:
    degree, power = rng.randrange(2, 4 + level), rng.randrange(3, 4 + 2 * level)
    k = rng.randrange(3, degree * power - 2)
    row = [1]
    for _ in range(power):
        row = [sum(row[max(0, i - degree) : i + 1]) for i in range(len(row) + degree)]
    return Problem(
        f"Consider the coefficient of x^{{{k}}} in (1 + x + ... + x^{{{degree}}})^{{{power}}}, "
        f"where the sum has all powers up to x^{{{degree}}}. {_MOD}",
        row[k] % 1000,
        f"Multiplying out one factor after the other gives {row[k]}.",
    )  # fmt: skip


def _zeros(rng: random.Random, level: int) -> Problem | None:
    n, base = rng.randrange(20, 400 * level), rng.choice([10, 6, 12, 15, 21, 14])
    rest, zeros = factorial(n), 0
    while rest % base == 0:
        rest, zeros = rest // base, zeros + 1
    return _bounded(
        f"Find the number of zeros at the end of {n}! written in base {base}.",
        zeros,
        f"The highest power of {base} that divides {n}! has the exponent {zeros}.",
    )


def _expected(rng: random.Random, level: int) -> Problem | None:
    cards = rng.sample(range(1, 12 + 8 * level), 3 + level)
    pairs = list(combinations(cards, 2))
    mean = Fraction(sum(max(pair) for pair in pairs), len(pairs))
    return _reduced(
        f"Cards bear the numbers {', '.join(map(str, cards))}. Two are chosen at random. The "
        f"expected value of the larger number",
        mean,
        f"The larger numbers of the {len(pairs)} pairs add up to {sum(map(max, pairs))}.",
    )


def _order(rng: random.Random, level: int) -> Problem | None:
    modulus, base = rng.randrange(20, 330 * level), rng.randrange(2, 30)
    if gcd(base, modulus) > 1 or base % modulus == 1:
        return None
    n, power = 1, base % modulus
    while power != 1:
        n, power = n + 1, power * base % modulus
    return Problem(
        f"Find the least positive integer n such that {modulus} divides {base}^n - 1.",
        n,
        f"The powers of {base} modulo {modulus} reach 1 for the first time at n = {n}.",
    )


def _reduced(start: str, value: Fraction, solution: str) -> Problem | None:
    m, n = value.numerator, value.denominator
    return _bounded(
        f"{start} is m/n, where m and n are relatively prime positive integers. Find m + n.",
        m + n if m else 1000,
        f"{solution} In lowest terms this is {m}/{n}, and m + n = {m + n}.",
    )


def _bounded(text: str, answer: int, solution: str) -> Problem | None:
    return Problem(text, answer, solution) if answer <= 999 else None


MAKERS: Mapping[str, Mapping[str, Maker]] = {
    "train": {
        "divisible": _divisible,
        "compositions": _compositions,
        "power": _power,
        "recurrence": _recurrence,
        "dice": _dice,
        "triangles": _triangles,
    },
    "val": {
        "divisor-sum": _divisor_sum,
        "apart": _apart,
        "congruences": _congruences,
        "series": _series,
        "marbles": _marbles,
        "lattice": _lattice,
    },
    "test": {
        "coins": _coins,
        "digits": _digits,
        "paths": _paths,
        "floors": _floors,
        "coefficient": _coefficient,
        "zeros": _zeros,
        "expected": _expected,
        "order": _order,
    },
}
"""Split -> kind -> its maker."""
