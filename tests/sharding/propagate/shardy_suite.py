"""Shardy's own propagation tests, by our propagation: which of their expectations it meets.

    shardy_suite.py SHARDY [FILE ...] [--tool PARTITION_TOOL] [--show FUNCTION]

SHARDY is a checkout of openxla/shardy. Each function of its propagation tests is propagated by partition_tool, with every
operation's line as its name, and the shardings found are compared with those that the CHECK lines of FileCheck ask for:
which axes each dimension of each result and argument has. Open, closed and replicated are not compared, for ours says
only what is. Prints a table of counts, and each disagreement. Those that are left are decisions:

- A dimension is not split into more parts than it has elements, and unevenly only if it is four times as long as the
  parts: nearly empty parts cost more than they save (..._non_divisible, ..._overflows, prefer_most_sharded_factor_*,
  partial_conflict_across_factors, slice_then_concat, size_zero_*).
- What is chosen for arguments and results of the program are whole axes that divide it, for JAX knows no others
  (..._sub_axis, multi_axes_compatible_prefix). Axes of size 1 are none (..._size_one_axes).
- All strategies always run, where the tests of the basic one run that alone (basic_propagation).
- Tokens have no sharding, dynamic shapes are refused, calls to move an array to the host are the array
  (token_func_output_skipped, dynamic_shaped_*, element_wise_host_offload_first).
"""

import argparse
import collections
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
TESTS = "shardy/dialect/sdy/transforms/propagation/test"
FILES = ["basic_propagation", "aggressive_propagation", "op_priority_propagation", "user_priority_propagation", "propagation_pipeline",
         "sharding_group_propagation", "basic_propagation_manual_computation", "basic_propagation_data_flow_edges"]
SHARDING = re.compile(r"<@[\w.]+, (\[.*?\])(?=[,>])(?:, replicated=\{[^}]*\})?(?:, unreduced=\{[^}]*\})?>")
OPERATION = re.compile(r"\b((?:stablehlo|sdy|mhlo|chlo)\.[\w.]+)")


def shardings(text):
    """What `text` says of shardings: a list of lists of axes a dimension."""
    found = []
    for dims in SHARDING.findall(text):
        inner = re.findall(r"\{([^{}]*)\}", dims)
        found.append(tuple(tuple(a.strip().replace('"', "") for a in d.split(",") if a.strip() not in ("", "?")) for d in inner))
    return found


def source_of(lines):
    return "\n".join(line for line in lines if not line.strip().startswith("//") and not line.startswith("sdy.mesh"))


def functions(path):
    """(meshes, name, lines, source of what it calls) of each function that no other calls."""
    for part in re.split(r"// -----.*", path.read_text()):
        meshes = [line for line in part.splitlines() if line.startswith("sdy.mesh")]
        bodies = {re.search(r"@(\w+)", body)[1]: body.splitlines() for body in re.split(r"(?=^// CHECK-LABEL: func)", part, flags=re.M)[1:]}
        called = set(re.findall(r"\bcall @(\w+)", part))
        for name, lines in bodies.items():
            if name in called or "func.func" not in source_of(lines):
                continue
            callees = "\n".join(source_of(bodies[c]) for c in bodies if c in called)
            source = source_of(lines) + callees
            used = [mesh for mesh in meshes if re.search(re.escape(re.search(r"@[\w.]+", mesh)[0]) + r"\b", source)]
            yield used or meshes[:1], name, lines, callees


class Case:
    """One function: the program that we read, and what is expected of its lines."""

    def __init__(self, meshes, name, lines, callees):
        self.name = name
        checks = []
        for line in lines:
            check = re.match(r"\s*// CHECK(-LABEL|-SAME|-NEXT|-DAG)?: *(.*)", line)
            if check and check[1] == "-SAME" and checks:
                checks[-1] += " " + check[2]
            elif check:
                checks.append(check[2])
        source = source_of(lines)
        self.signature, self.expected = checks[0], [c for c in checks[1:] if OPERATION.search(c)]
        known = meshes + re.findall(r"\bmesh<\[.*?\]", source)
        count = self.partitions = max((math.prod(map(int, re.findall(r'"[\w.]+"\s*=\s*(\d+)', mesh))) for mesh in known), default=1)
        text = re.sub(rf"@{name}\b", "@main", source)
        self.operations = []
        self.program = (f"module attributes {{mhlo.num_partitions = {count} : i32}} {{\n" + "\n".join(meshes) + "\n"
                        + self._named(text) + "\n" + callees + "\n}\n")

    def _named(self, text):
        """Every operation's statement ends with loc("opN"), N its place in self.operations."""
        statements, out = re.split(r"\n(?=\s*(?:%[\w:, #]+ = |return|stablehlo\.|sdy\.|func\.|\}|\)))", text), []
        for statement in statements:
            operation = OPERATION.search(statement.split("=", 1)[-1] if statement.lstrip().startswith("%") else statement)
            opens = statement.rstrip().endswith(("{", "({")) or "return" in statement.split("(")[0]
            if operation and not opens and "func.func" not in statement:
                self.operations.append(operation[1])
                statement = f'{statement.rstrip()} loc("op{len(self.operations) - 1}")'
            out.append(statement)
        return "\n".join(out)

    def wanted(self):
        """(what, shardings) in the order of the CHECK lines, matched with the operations by name."""
        inputs, _, results = self.signature.partition("->")
        for what, text in (("argument", inputs), ("result", results)):
            types = re.split(r"(?=tensor<)", text)[1:]
            for number, one in enumerate(types):
                if found := shardings(one):
                    yield f"{what}{number}", found
        at = 0
        for check in self.expected:
            operation = OPERATION.search(check)[1]
            while at < len(self.operations) and self.operations[at] != operation:
                at += 1
            if at == len(self.operations):
                return
            if found := shardings(check):
                yield f"op{at}", found
            at += 1

    def found(self, tool):
        """By the same names, what our propagation says; or an error."""
        with tempfile.NamedTemporaryFile(suffix=".mlir") as file:
            file.write(generic(self.program))
            file.flush()
            done = subprocess.run([tool, file.name, str(self.partitions), "1"], env=os.environ | {"SHOW": "1"}, capture_output=True, text=True, timeout=60)
        entry = re.search(r"^ENTRY.*?^\}", done.stderr, re.M | re.S)
        if not entry:
            return None, (done.stderr.strip().splitlines() or ["no output"])[-1]
        known = {}
        for line in done.stderr.splitlines():
            name, own = re.search(r'op_name="(op\d+)', line), ours(line.split(", sharding=")[-1]) if ", sharding=" in line else None
            if name and own:
                known[name[1]] = own
        for line in entry[0].splitlines():
            if (number := re.search(r" parameter\((\d+)\)", line)) and ", sharding=" in line:
                known[f"argument{number[1]}"] = ours(line.split(", sharding=")[-1])
        head = re.search(r"result_shardings=(.*)", done.stderr)
        for number, one in enumerate(ours(head[1]) if head else []):
            known[f"result{number}"] = [one]
        return known, None


def generic(text):
    """In the form that all operations share, as jaxlib's MLIR reads it; the text itself where that does not know it."""
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir

    try:
        with mlir.make_ir_context():
            module = ir.Module.parse(text)
            return module.operation.get_asm(enable_debug_info=True, print_generic_op_form=True).encode()
    except ir.MLIRError:
        return text.encode()


def ours(text):
    found = []
    for dims in re.findall(r"\{mesh<[^>]*>, \[(.*?)\](?:, [\w=]+\{[^}]*\})*\}", text.split(", metadata")[0]):
        found.append(tuple(tuple(a.strip() for a in d.split(",") if a.strip() not in ("", "?")) for d in re.findall(r"\{([^{}]*)\}", dims)))
    return found


def plain(found):
    """Without priorities, as both sides write sub-axes."""
    return [tuple(tuple(re.sub(r"p\d+$", "", a).replace(" ", "") for a in d) for d in one) for one in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shardy", type=pathlib.Path)
    parser.add_argument("files", nargs="*", default=FILES)
    parser.add_argument("--tool", default=ROOT / "build/release/tests/sharding/partition/partition_tool")
    parser.add_argument("--show", help="print this function's program and shardings")
    a = parser.parse_args()
    total, rows = collections.Counter(), []
    for name in a.files:
        counts = collections.Counter()
        for meshes, function, lines, callees in functions(a.shardy / TESTS / f"{name}.mlir"):
            case = Case(meshes, function, lines, callees)
            known, error = case.found(a.tool)
            if a.show == function:
                print(case.program, known or error)
            if error:
                counts["refused"] += 1
                print(f"{name}: {function}: refused: {error}")
                continue
            wrong = [(what, plain(want), plain(known.get(what, []))) for what, want in case.wanted() if plain(known.get(what, [])) != plain(want)]
            counts["functions"] += 1
            counts["alike"] += not wrong
            for what, want, got in wrong:
                label = case.operations[int(what[2:])] if what.startswith("op") else what
                print(f"{name}: {function}: {what} {label}: Shardy {want}, here {got}")
        rows.append((name, counts))
        total += counts
    for name, counts in rows + [("all", total)]:
        print(f"{name:42}{counts['functions']:5} functions, {counts['alike']:4} alike, {counts['refused']:3} refused")


if __name__ == "__main__":
    sys.exit(main())
