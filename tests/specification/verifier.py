"""StableHLO's own tests of constraints on Shoal's reader: `python tests/specification/verifier.py STABLEHLO_CHECKOUT`.

Its tests/ops_stablehlo.mlir and tests/verify_*.mlir hold programs that break one constraint each (`expected-error`), most
of them named after it (`@dot_general_c9`), beside programs that break none. Each goes through shoal_import, which reads,
imports and verifies. Prints what is accepted and should not be, what is refused and should not be, and how often the message
has the label of the constraint.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from built import BUILD  # noqa: E402

TOOL = BUILD / "tests/core/stablehlo/shoal_import"

# Programs that StableHLO's verifier takes and Shoal does not, by the word of them that it refuses, with the reason.
REFUSED = {
    "func.func private @token_type": "a declaration: there is no program",
    "func.func private @mesh": "a function stands for the mesh",
    "@all_gather_variadic": "its second result is half as wide as C6 says, which StableHLO does not check",
    "dynamic_gather": "sizes that are computed: Shoal takes programs that are refined (jax.export does that)",
    "operand_tuple_indices = [1]": "an alias of an element of a tuple; JAX writes no tuples",
    "tensor<*xf32>": "no rank",
    "stablehlo.einsum": "no operation of the specification any more",
    "#sparse_tensor": "sparse tensors are another dialect's",
    "f6E": "no element type of JAX on CPUs",
    "(%arg0: tensor<4x4xf32>, %arg1 : tensor<4xf32>)": "reduce I2: the initial value is a scalar",
    "non_scalar_block_arg": "reduce_window I2: the initial value is a scalar",
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("files", nargs="*", default=["ops_stablehlo", "verify_*"])
    options = parser.parse_args()
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for pattern in options.files:
            for path in sorted((options.checkout / "stablehlo/tests").glob(f"{pattern}.mlir")):
                for number, text in enumerate(path.read_text().split("// -----")):
                    counts[judge(f"{path.stem} #{number}", text, pathlib.Path(folder) / "program.mlir")] += 1
    for verdict, n in sorted(counts.items()):
        print(f"{n} {verdict}")


def judge(name, text, path):
    # The function with the wrong operation: the last that begins before the message, else the last of all.
    before = text[:text.index("expected-error")] if "expected-error" in text else text
    found = list(re.finditer(r"func\.func (?:public |private )?@(\w+)", before)) or list(
        re.finditer(r"func\.func (?:public |private )?@(\w+)", text))[:1]
    if not found:
        return "without a function"
    function = found[-1]
    if "?x" in text or "tensor<?" in text:
        return "of dynamic sizes, which Shoal takes refined only"
    label = re.search(r"^(.*?)_(c\d+|i\d+)(?:_|$)", function[1])
    wrong = re.search(r"expected-error.*?\{\{(.*)\}\}", text)
    renamed = text[:function.start()] + "func.func public @main" + text[function.end():]
    renamed = renamed.replace("arith.constant", "stablehlo.constant")
    if "module" not in text:
        # As many devices as the groups of the tests have; a channel makes those of some operations partitions.
        groups = re.search(r"(?:replica_groups|source_target_pairs) = dense<(.*?)> :", text)
        devices = 1 + max(map(int, re.findall(r"\d+", groups[1])), default=0) if groups else 8
        by_partition = re.search(r"all_to_all|collective_(permute|broadcast|reduce)", text) and re.search(
            r"channel_handle<handle = [1-9]", text)
        counts = (1, devices) if by_partition else (devices, 1)
        attributes = "mhlo.num_replicas = %d : i32, mhlo.num_partitions = %d : i32" % counts
        renamed = f"module attributes {{{attributes}}} {{{renamed}}}"
    path.write_text(renamed)
    done = subprocess.run([TOOL, path], capture_output=True, text=True)
    told = done.stderr.strip().split(": ", 1)[-1]
    if not wrong:
        reason = next((reason for word, reason in REFUSED.items() if word in text), None)
        if done.returncode and reason:
            print(f"{name} @{function[1]}: refused by decision: {reason}")
            return "right programs refused by decision"
        if done.returncode:
            print(f"{name} @{function[1]}: REFUSED: {told[:200]}")
        return "right programs refused" if done.returncode else "right programs accepted"
    if done.returncode == 0:
        print(f"{name} @{function[1]}: ACCEPTED: {wrong[1][:200]}")
        return "wrong programs accepted"
    if label and f" {label[2].upper()}:" not in told:
        print(f"{name} @{function[1]}: ANOTHER LABEL: {told[:160]}")
        return "wrong programs refused, by another label"
    return "wrong programs refused" + (" by the label" if label else ", without a label in the test")


if __name__ == "__main__":
    sys.exit(main())
