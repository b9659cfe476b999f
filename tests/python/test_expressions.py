import itertools
import unittest

import fixture  # noqa: F401: sets the path

from kernel_tuner.expressions import Untranslatable, evaluator, translated, with_values

NAMES = {"a": [7, 8, -7], "b": [2, 4], "t": ["x", "y"], "z": [0, 1, 3], "h": [0.5, 2.5], "f": [True, False]}


class Expressions(unittest.TestCase):
    def test_what_tiletune_has_stays_as_it_is(self):
        for text in ("a % b == 0", "a // 2 + b ** 2", "a == 1 or (not b > 2)", "t in ('x', 'y')", "1 <= a <= b",
                     "min(a, b) if a else max([a, b])", "a << 2 & b"):
            with self.subTest(text):
                ours = translated(text, NAMES, "restriction")
                values = {"a": 8, "b": 4, "t": "x"}
                self.assertEqual(eval(ours, {}, values), eval(text, {}, values))

    def test_rounding_becomes_floor_division(self):
        for text, a in (("ceil(a / b)", 7), ("math.ceil(a / b)", 8), ("floor(a / b)", -7), ("ceil(a / b)", -7)):
            with self.subTest(text=text, a=a):
                ours = translated(text, NAMES, "size")
                self.assertNotIn("ceil", ours)
                self.assertEqual(eval(ours, {}, {"a": a, "b": 2}),
                                 evaluator(text, NAMES, "size")[0]({"a": a, "b": 2, "t": ""}))

    def test_what_only_python_has_is_left_to_it(self):
        for text in ("len(t) > 1", "t[0] == 'x'", "any(v > 1 for v in (a, b))", "math.sqrt(a) > 2", "a is b", "'\\'' == t"):
            with self.subTest(text):
                with self.assertRaises(Untranslatable):
                    translated(text, NAMES, "restriction")

    def test_what_tiletune_cannot_hold_exactly_is_left_to_python(self):
        for text in ("t in 'x y'", "'x' in t", "t + '4' == 'x4'", "(a, z) != (8, 1)", "t * 2 == 'xx'", "t < a", "a in ()",
                     "1 < a in (7, 8)", "b % z == 0", "b / z > 1 and z", "1 / (b - 2) > 0", "a * 2**62 > 1", "10**b**10 > a",
                     "9223372036854775808 > a", "1e999 > a", "a << 70 > 1", "a ** b > 1", "2 << z - 1", "max(t, t) == 'x'",
                     "abs(t)", "int(t) == 1", "float('1') > a", "min(a)", "pow(a, 2, 5) == 1", "t or a > 1",
                     " or ".join(f"a == {i}" for i in range(900))):
            with self.subTest(text[:40]), self.assertRaises(Untranslatable):
                translated(text, NAMES, "restriction")

    def test_what_is_exact_for_all_values_stays(self):
        for text in ("z == 0 or b % z == 0", "b % z == 0 if z else True", "a % (b * (z + 1)) == 0", "b ** 3 * z >> 1 > 4",
                     "f and h * b > 1", "t == 'x' and a // 2 in (3, -4)", "t < 'y' <= 'z'", "max((a, b)) == max([b]) + z",
                     "b | 1 < 4 ^ z & 3", "int(h) < 2", "pow(b, 2) > -z"):
            with self.subTest(text):
                ours = translated(text, NAMES, "restriction")
                for combination in itertools.product(*NAMES.values()):
                    values = dict(zip(NAMES, combination))
                    self.assertEqual(eval(ours, {}, values), eval(text, {}, values))

    def test_mistakes_name_the_place_and_the_word(self):
        with self.assertRaisesRegex(ValueError, "restriction 'a == c'.*'c'"):
            translated("a == c", NAMES, "restriction")
        with self.assertRaisesRegex(ValueError, "grid_div_x 'a &&'"):
            evaluator("a && b".replace(" b", ""), NAMES, "grid_div_x")

    def test_words_are_replaced_as_a_whole(self):
        self.assertEqual(with_values("a + ab + a1 * b", {"a": 3, "b": "float"}), "3 + ab + a1 * float")
