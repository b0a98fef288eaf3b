"""Shardy's own propagation tests, by our propagation: which of their expectations it meets.

    shardy_suite.py SHARDY [FILE ...] [--tool PARTITION_TOOL] [--show FUNCTION]

SHARDY is a checkout of openxla/shardy. Each function of its propagation tests is propagated by partition_tool, with every
operation's line as its name, and the shardings found are compared with those that the CHECK lines of FileCheck ask for:
which axes each dimension of each result and argument has. Open, closed and replicated are not compared, for ours says
only what is. Prints a table of counts, and each disagreement: those that are decisions under their reason (DECISIONS), and
the others one by one. Ends with 1 if there are others.
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

# Why: in which functions.
DECISIONS = {
    "a dimension is split into no more parts than it has elements, and unevenly only if it is four times as long as the parts, for nearly "
    "empty parts cost more than they save":
        "single_factor_non_divisible single_factor_overflows minor_most_factor_non_divisible minor_most_factor_overflows "
        "minor_most_factor_overflows_multiple_axes non_minor_most_factor_non_divisible_multiple_axes non_minor_most_factor_non_divisible_sub_axis "
        "non_minor_most_factor_non_divisible_other_open_dim_unchanged non_minor_most_factor_non_divisible_same_open_dim_unchanged "
        "merge_dim_minor_most_factor_non_divisible partial_conflict_across_factors prefer_most_sharded_factor_elementwise_op2 "
        "prefer_most_sharded_factor_on_operand_elementwise_op slice_then_concat source_result_different_meshes_not_propagated "
        "different_mesh_names_same_mesh_propagated pointwise_size_zero_dim_axis_size_1 size_zero_dim_sharded",
    "what is chosen for arguments and results of the program are whole axes that divide it, for JAX knows no others":
        "multi_axes_compatible_prefix sideways_propagation_if_result_is_closed_sub_axis",
    "axes of size 1 split nothing, and are none": "pointwise_size_one_axes reshape_size_one_axes",
    "all strategies always run, the aggressive one, too, where the test runs the basic one alone":
        "multi_axes_some_axes_incompatible multi_axes_all_axes_incompatible sub_axes_cannot_coexist empty_mesh_replaced_closed_dim_respected "
        "case_multiple_dim_most_compatible",
    "the branches' results and that of the conditional conflict as the operands of any operation do; Shardy keeps what all of them agree on":
        "case_single_result_func_args_conflict case_closed_sharding",
    "a dimension that a constraint has closed stays as it says; its group gives way":
        "add_extra_sharding_constraint_for_incompatible_group_member_shardings",
    "a group is of one program, and this one is of two that do not call each other": "shard_as_applies_across_functionB",
    "a tie between members of a group": "shard_as_reflects_user_priority",
    "a call that moves an array to the host is the array, so it has no priority": "element_wise_host_offload_first",
    "dynamic shapes are refused": "dynamic_shaped_func_output_skipped",
    "sums that are not added yet are known, other reductions are refused": "unreduced_custom_reduction_op",
}

SHARDING = re.compile(r"<@[\w.]+, (\[.*?\])(?=[,>])(?:, replicated=\{[^}]*\})?(?:, unreduced=\{[^}]*\})?>")
OPERATION = re.compile(r"\b((?:stablehlo|sdy|mhlo|chlo)\.[\w.]+)")


def shardings(text):
    """What `text` says of shardings: a list of lists of axes a dimension."""
    found = []
    for dims in SHARDING.findall(text):
        inner = re.findall(r"\{([^{}]*)\}", dims)
        found.append(tuple(tuple(a.strip().replace('"', "") for a in d.split(",") if a.strip() not in ("", "?")) for d in inner))
    return found


def types_of(text):
    return re.findall(r"tensor<[^>]*>", text)


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
        self.operations, self.types = [], []
        self.program = (f"module attributes {{mhlo.num_partitions = {count} : i32}} {{\n" + "\n".join(meshes) + "\n"
                        + self._named(text) + "\n" + callees + "\n}\n")

    def _named(self, text):
        """Every operation's statement ends with loc("opN"), N its place in self.operations; one with regions where these end."""
        statements = re.split(r"\n(?=\s*(?:%[\w:, #]+ = |return|stablehlo\.|sdy\.(?!sharding(?:_rule)? =)|func\.|\}|\)))", text)
        out, open_regions = [], []
        for statement in statements:
            closes = statement.lstrip().startswith("}")
            operation = OPERATION.search(statement.split("=", 1)[-1] if statement.lstrip().startswith("%") else statement)
            number = None
            if closes and open_regions:
                number = open_regions.pop()
                if number is not None and types_of(statement):
                    self.types[number] = types_of(statement)
            elif operation and "return" not in statement.split("(")[0] and "func.func" not in statement:
                number = len(self.operations)
                self.operations.append(operation[1])
                self.types.append(types_of(statement))
            if statement.count("{") > statement.count("}") - closes:
                open_regions.append(number)
            elif number is not None:
                statement = f'{statement.rstrip()} loc("op{number}")'
            out.append(statement)
        return "\n".join(out)

    def wanted(self):
        """(what, shardings) in the order of the CHECK lines, matched with the operations by name."""
        inputs, _, results = self.signature.partition("->")
        for what, text in (("argument", inputs), ("result", results)):
            types = re.split(r"(?=tensor<|!stablehlo\.token)", text)[1:]
            for number, one in enumerate(types):
                if found := shardings(one):
                    yield f"{what}{number}", found
        at = 0
        for check in self.expected:
            operation, found, result = OPERATION.search(check)[1], shardings(check), types_of(check)[-1:]

            def may_be(i):
                types = self.types[i]
                is_like = not result or not types or result == types[-1:]
                return self.operations[i] == operation and is_like and (not found or not types or len(found[0]) in {t.count("x") for t in types})

            match = [i for i in range(at, len(self.operations)) if may_be(i)]
            if not match:
                continue  # what only Shardy's pipeline makes of the program
            at = match[0] + 1
            # An edge is the values that it joins; a region's arrays have their own.
            if "data_flow_edge" not in operation and operation != "sdy.manual_computation" and found:
                yield f"op{match[0]}", found

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
            if name and own and len(own) >= len(known.get(name[1], [])):  # not an element of its tuple
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
    reason_of = {function: reason for reason, functions in DECISIONS.items() for function in functions.split()}
    total, rows, decided = collections.Counter(), [], collections.defaultdict(list)
    for name in a.files:
        counts = collections.Counter()
        for meshes, function, lines, callees in functions(a.shardy / TESTS / f"{name}.mlir"):
            case = Case(meshes, function, lines, callees)
            known, error = case.found(a.tool)
            if a.show == function:
                print(case.program, known or error)
            if error:
                counts["refused"] += 1
            differs = [f"{name}: {function}: refused: {error}"] if error else []
            for what, want in case.wanted() if known else ():
                want, got = plain(want), plain(known.get(what, []))
                label = f"{what} {case.operations[int(what[2:])]}" if what.startswith("op") else what
                if want != got and (got or any(map(any, want))):  # of a scalar or of nothing nothing is said
                    differs.append(f"{name}: {function}: {label}: Shardy {want}, here {got}")
            counts["functions"] += 1
            counts["alike"] += not differs
            if differs and function in reason_of:
                counts["decided"] += 1
                decided[reason_of[function]] += differs
            elif differs:
                print(*differs, sep="\n")
        rows.append((name, counts))
        total += counts
    for reason, differs in decided.items():
        print(f"\nDecided: {reason}", *differs, sep="\n  ")
    print()
    for name, counts in rows + [("all", total)]:
        others = counts["functions"] - counts["alike"] - counts["decided"]
        print(f"{name:42}{counts['functions']:5} functions, {counts['alike']:4} alike, {counts['decided']:3} decided, {others:3} others; {counts['refused']:2} refused")
    return int(total["functions"] != total["alike"] + total["decided"])


if __name__ == "__main__":
    sys.exit(main())
