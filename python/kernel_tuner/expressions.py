"""Expressions of Kernel Tuner, which are Python, as expressions of tiletune, which are nearly so."""
import ast
import builtins
import itertools
import math
import operator
import re

import numpy

WORD = re.compile(r"[a-zA-Z0-9_]+")
SAME_FUNCTIONS = ("min", "max", "abs", "int", "float", "bool", "pow")
KNOWN = {"ceil": math.ceil, "floor": math.floor, "math": math, "np": numpy, "numpy": numpy}
OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift, ast.BitAnd,
             ast.BitOr, ast.BitXor, ast.And, ast.Or, ast.Not, ast.USub, ast.Invert, ast.Eq, ast.NotEq, ast.Lt, ast.LtE,
             ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.Load)
NODES = (ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp, ast.Tuple, ast.List) + OPERATORS


BY_EXTREMES = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
               ast.FloorDiv: operator.floordiv, ast.Pow: operator.pow, ast.LShift: operator.lshift,
               ast.RShift: operator.rshift}
MOST_NUMBER = (1 << 63) - 1
MOST_CHARACTERS = 8192
MOST_TRIED = 100_000  # combinations of the values that an expression names


class Untranslatable(Exception):
    """tiletune has no such expression, or may have another result; Python can evaluate it."""


class _Translator(ast.NodeTransformer):
    def __init__(self, names):
        self.names = names

    def generic_visit(self, node):
        if not isinstance(node, NODES):
            raise Untranslatable
        return super().generic_visit(node)

    def visit_Name(self, node):
        if node.id not in self.names:
            raise Untranslatable
        return node

    def visit_Constant(self, node):
        if isinstance(node.value, str) and re.search(r"['\\\n]", node.value):
            raise Untranslatable
        if not isinstance(node.value, (bool, int, float, str)):
            raise Untranslatable
        return node

    def visit_UnaryOp(self, node):
        return self.visit(node.operand) if isinstance(node.op, ast.UAdd) else self.generic_visit(node)

    def visit_Call(self, node):
        name = ast.unparse(node.func)
        arguments = [self.visit(argument) for argument in node.args]
        if node.keywords:
            raise Untranslatable
        if name in ("min", "max") and len(arguments) == 1 and isinstance(arguments[0], (ast.List, ast.Tuple)):
            arguments = arguments[0].elts * (2 if len(arguments[0].elts) == 1 else 1)  # min(a, a) for min([a])
        if name in SAME_FUNCTIONS:
            return ast.Call(ast.Name(name), arguments, [])
        if len(arguments) == 1 and name in ("ceil", "math.ceil"):
            return ast.UnaryOp(ast.USub(), _floor(ast.UnaryOp(ast.USub(), arguments[0])))
        if len(arguments) == 1 and name in ("floor", "math.floor"):
            return _floor(arguments[0])
        raise Untranslatable


def _floor(node):
    return ast.Call(ast.Name("int"), [ast.BinOp(node, ast.FloorDiv(), ast.Constant(1))], [])


def parsed(text, names, what):
    """The syntax tree. Raises ValueError for what is not Python, and for names that nothing stands for."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise ValueError(f"{what} {text!r} is not a Python expression: {error.msg}") from None
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in (set(names) | KNOWN.keys() | bound | set(dir(builtins))):
            raise ValueError(f"{what} {text!r} names {node.id!r}, which is not a tunable parameter")
    return tree


def translated(text, values, what):
    """The expression in tiletune's language, where it has the same result for all values of the parameters. Raises
    Untranslatable."""
    tree = ast.fix_missing_locations(_Translator(values).visit(parsed(text, values, what).body))
    try:
        _extremes(tree, values, text)
    except (TypeError, ValueError, ArithmeticError):
        raise Untranslatable from None
    ours = ast.unparse(tree)
    if len(ours) > MOST_CHARACTERS:
        raise Untranslatable
    return ours


def _extremes(node, values, text):
    """(least, most) of the numbers that a node can be, None for strings. Raises Untranslatable where tiletune, whose
    integers have 64 bits, may have no result."""
    def each(nodes):
        return [_extremes(one, values, text) for one in nodes]

    def numbers(nodes):
        found = each(nodes)
        if None in found:
            raise Untranslatable
        return found

    def hull(found):
        if len({one is None for one in found}) > 1:
            raise Untranslatable
        return None if found[0] is None else (min(least for least, _ in found), max(most for _, most in found))

    if isinstance(node, (ast.Name, ast.Constant)):
        known = values[node.id] if isinstance(node, ast.Name) else [node.value]
        result = None if isinstance(known[0], str) else (min(known), max(known))
    elif isinstance(node, ast.BoolOp):
        result = hull(each(node.values))
    elif isinstance(node, ast.IfExp):
        each([node.test])
        result = hull(each([node.body, node.orelse]))
    elif isinstance(node, ast.Compare):
        last, is_membership = node.comparators[-1], isinstance(node.ops[-1], (ast.In, ast.NotIn))
        if is_membership and (len(node.ops) > 1 or not isinstance(last, (ast.Tuple, ast.List)) or not last.elts):
            raise Untranslatable
        found = each([node.left, *(last.elts if is_membership else node.comparators)])
        if not isinstance(node.ops[0], (ast.In, ast.NotIn, ast.Eq, ast.NotEq)) or len(node.ops) > 1:
            hull(found)
        result = (0, 1)
    elif isinstance(node, ast.UnaryOp):
        found = each([node.operand]) if isinstance(node.op, ast.Not) else numbers([node.operand])
        result = (0, 1) if isinstance(node.op, ast.Not) else (-found[0][1] - 1, 1 - found[0][0])
    elif isinstance(node, ast.Call):
        name, count = node.func.id, len(node.args)
        if count < 2 if name in ("min", "max") else count != (2 if name == "pow" else 1):
            raise Untranslatable
        found = each(node.args) if name == "bool" else numbers(node.args)
        least, most = (0, 1) if name == "bool" else hull(found)
        result = {"pow": lambda: _of_two(ast.Pow(), *found, text, values), "abs": lambda: (0, max(-least, most)),
                  "int": lambda: (math.floor(least), math.ceil(most))}.get(name, lambda: (least, most))()
    elif isinstance(node, ast.BinOp):
        result = _of_two(node.op, *numbers([node.left, node.right]), text, values)
    else:
        raise Untranslatable
    if result is not None and not max(map(abs, result)) <= MOST_NUMBER:
        raise Untranslatable
    return result


def _of_two(kind, left, right, text, values):
    """The extremes of an operation, from those of its operands."""
    most = max(map(abs, (*left, *right)))
    if isinstance(kind, (ast.Div, ast.FloorDiv, ast.Mod)) and right[0] <= 0 <= right[1]:
        if float in map(type, right) or _divides_by_zero(text, values):
            raise Untranslatable
        return -most, most
    if isinstance(kind, ast.Mod):
        return min(right[0], 0), max(right[1], 0)
    if isinstance(kind, (ast.BitAnd, ast.BitOr, ast.BitXor)):
        return (0 if left[0] >= 0 and right[0] >= 0 else -2 * most - 1), 2 * most + 1
    if isinstance(kind, (ast.Pow, ast.LShift, ast.RShift)) and not 0 <= right[0] <= right[1] <= 64:
        raise Untranslatable
    if isinstance(kind, ast.Pow) and left[0] < 0:
        raise Untranslatable
    ends = [BY_EXTREMES[type(kind)](one, other) for one in left for other in right]
    return min(ends), max(ends)


def _divides_by_zero(text, values):
    """Whether an evaluation does, or may where there are many: `b == 0 or a % b == 0` does not."""
    function, used = evaluator(text, values, "expression")
    if math.prod(len(values[name]) for name in used) > MOST_TRIED:
        return True
    for combination in itertools.product(*(values[name] for name in used)):
        try:
            function(dict(zip(used, combination)))
        except ZeroDivisionError:
            return True
    return False


def evaluator(text, names, what):
    """(function of a configuration, the names that it reads)"""
    tree = parsed(text, names, what)
    code = compile(tree, f"<{what}>", "eval")
    used = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & set(names))
    return lambda configuration: eval(code, KNOWN, {name: configuration[name] for name in used}), used


def with_values(text, configuration):
    """The text with every word that is a parameter replaced by its value."""
    return WORD.sub(lambda word: str(configuration.get(word.group(), word.group())), text)


def words_of(text, names):
    """The parameters that the text names as words."""
    return [word for word in dict.fromkeys(WORD.findall(text)) if word in names]
