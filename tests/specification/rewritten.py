"""Programs of StableHLO's tests as programs that return what they check."""

import dataclasses
import re

# The ways in which the tests write a check: with a constant, of two values (pretty, and as a custom call), generic.
CHECK = re.compile(
    r"^ *check\.(expect_\w+?)_const (%[\w#]+),\s*(.*?) :\s+(tensor<.*?>)"
    r"( \{tolerance = ([\d.e-]+) : f64\})?( *//.*)?$", re.M | re.S)
CHECK_GENERIC = re.compile(r'^ *"check\.(expect_\w+?)_const"\((%[\w#]+)\) <\{value = (.*) : (tensor<[^}]*>)\}>.*$', re.M)
CHECK_PAIR = re.compile(
    r"^ *check\.(expect_\w+?) (%[\w#]+), (%[\w#]+)(?:, (?:tolerance|max_ulp_difference) = ([\d.e-]+))? : "
    r"(tensor<[^\n]*?>)(, tensor<.*>)?$", re.M)
CHECK_CALL = re.compile(
    r"^ *(?:%\w+ = )?stablehlo\.custom_call @check\.(\w+)\((%[\w#]+), (%[\w#]+)\).*? : \((tensor<.*?>), tensor<.*$", re.M)
PARALLEL = re.compile(
    r'^ *(?:(%\w+)(?::\d+)? = )?"interpreter\.run_parallel"\(([^)]*)\) \{(.*?)\}\s*: \((.*?)\)\s*->\s*'
    r"(?:\([^)]*\)|[^\n]*)$", re.M | re.S)


class NothingChecked(ValueError):
    """The program is there for StableHLO's own readers and writers."""


@dataclasses.dataclass
class Rewritten:
    text: str  # a module whose main gives, for each check, the value and the expected one; "" where nothing is checked
    checks: list  # (kind, tolerance)
    parallel: tuple = None  # ((replicas, partitions), module of the function, operands' types)
    sources: list = None  # with `parallel`: of each value, the number of its result, or None where main gives it


def functions(text):
    """(start, end) of each func.func, by its braces."""
    found = []
    for match in re.finditer(r"func\.func", text):
        depth, at = 0, opening(text, match.end())
        for i in range(at, len(text)):
            depth += (text[i] == "{") - (text[i] == "}")
            if depth == 0:
                found.append((match.start(), i + 1))
                break
    return found


def opening(text, at):
    """Where the body of a function begins: past the arguments, results and attributes."""
    depth = 0
    while True:
        character = text[at]
        if character in "(<[":
            depth += 1
        elif character in ")>]" and text[at - 1] != "-":
            depth -= 1
        elif character == "{" and depth == 0 and not re.search(r"attributes\s*$", text[:at]):
            return at
        at += 1


def rewrite(text):
    text = re.sub(r"^ *//.*$", "", text, flags=re.M)
    spans = functions(text)
    with_checks = [s for s in spans if re.search(r"check\.", text[slice(*s)])]
    start, end = with_checks[0] if with_checks else spans[-1]
    main = text[start:end]
    others = "\n".join(text[s:e] for s, e in spans if (s, e) != (start, end))
    parallel = PARALLEL.search(main)
    if not parallel:
        body, checks, values = take_checks(main)
        if "?x" in text and not checks:
            raise NothingChecked("dynamic sizes and no check: StableHLO's own round trip")
        return Rewritten(module(as_main(body, values), others), checks)
    body, checks, values = take_checks(main.replace(parallel[0], ""))
    if not checks:
        raise NothingChecked("nothing is checked")
    inputs = list(zip(split(parallel[2]), split(parallel[4])))
    name = parallel[1]
    sources = [source(value, name) for value, _ in values]
    own = inputs + [v for v, s in zip(values, sources) if s is None]
    rows = re.search(r"programs\s*=\s*\[(.*)\]", parallel[3], re.S)[1]
    grid = [split(row) for row in re.findall(r"\[(.*?)\]", rows, re.S)]
    target = {f for row in grid for f in row}
    if len(target) != 1:
        raise ValueError("processes that run different functions: no SPMD program")
    called = target.pop().lstrip("@")
    public = re.sub(rf"func\.func (?:public |private )?@{called}\b", "func.func public @main", others)
    tokens = [kind for _, kind in inputs if "token" in kind]
    if tokens:
        raise ValueError("a token is an argument of the program")
    return Rewritten(module(as_main(body, own), "") if own else "", checks,
                     ((len(grid), len(grid[0])), module(public, ""), inputs), sources)


def inputs_alone(text):
    """A program that gives what @inputs gives; "" where there is none."""
    call = re.search(r"= call @inputs\(\) : \(\) -> \(?(tensor<.*>)\)?$", text, re.M)
    if not call:
        return ""
    kinds = split(call[1])
    function = next(text[s:e] for s, e in functions(text) if "@inputs" in text[s:e].split("(")[0])
    names = [f"%0#{i}" for i in range(len(kinds))] if len(kinds) > 1 else ["%0"]
    count = f":{len(kinds)}" if len(kinds) > 1 else ""
    main = (f"func.func public @main() -> ({', '.join(kinds)}) {{\n  %0{count} = call @inputs() : () -> ({', '.join(kinds)})\n"
            f"  return {', '.join(names)} : {', '.join(kinds)}\n}}")
    return module(main, function)


def source(value, name):
    match = re.fullmatch(rf"{re.escape(name or '-')}(?:#(\d+))?", value)
    return int(match[1] or 0) if match else None


def split(text):
    """Comma-separated parts; commas inside brackets do not count."""
    parts, depth, part = [], 0, ""
    for i, c in enumerate(text):
        depth += (c in "<([") - (c in ">)]" and text[i - 1] != "-")
        if c == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += c
    return [p for p in [*parts, part.strip()] if p]


def take_checks(main):
    """The function without its checks, the checks, and [(name, type)] of what they compare."""
    checks, values = [], []

    def constant(match):
        kind, value, expected, of, tolerance = match[1], match[2], match[3], match[4], match[6]
        name = f"%checked_{len(checks)}"
        checks.append((kind, float(tolerance) if tolerance else None))
        values.extend([(value, of), (name, of)])
        return f"  {name} = stablehlo.constant {expected} : {of}"

    def pair(match):
        checks.append((match[1], float(match[4]) if match[4] else None))
        values.extend([(match[2], match[5]), (match[3], match[5])])
        return ""

    def call(match):
        checks.append((match[1], None))
        values.extend([(match[2], match[4]), (match[3], match[4])])
        return ""

    def generic(match):
        return constant([match[0], match[1], match[2], match[3], match[4], None, None])

    main = CHECK.sub(constant, main)
    main = CHECK_GENERIC.sub(generic, main)
    main = CHECK_PAIR.sub(pair, main)
    main = CHECK_CALL.sub(call, main)
    return main, checks, values


def as_main(function, values):
    """The function under the name main, giving these values."""
    at = opening(function, len("func.func"))
    body = function[at:]
    body = re.sub(r"\n\s*(?:func\.)?return[^\n]*\n\s*\}\s*$", "", body)
    names, kinds = ", ".join(v for v, _ in values), ", ".join(k for _, k in values)
    return f"func.func public @main() -> ({kinds}) {body}\n  return {names}{' : ' if values else ''}{kinds}\n}}"


def module(*parts):
    return "module @m {\n" + "\n".join(parts) + "\n}\n"
