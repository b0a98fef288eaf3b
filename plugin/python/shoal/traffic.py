"""What a compiled program sends between devices: `print(shoal.report(compiled))`.

`compiled` is what `jax.jit(f).lower(...).compile()` gives, for devices that are here or for a topology of any size
(`jax.experimental.topologies`). Bytes are those that one device sends under the ring model: an all-reduce of n bytes
among k sends 2n(k-1)/k, an all-gather, reduce-scatter or all-to-all (k-1)/k of the larger side, a permute all of it.
"""

import dataclasses
import math
import re

_BITS = {"pred": 8, "c64": 64, "c128": 128}
_KINDS = (
    "all-reduce|all-gather|reduce-scatter|all-to-all|ragged-all-to-all|collective-permute|collective-broadcast"
)
_COLLECTIVE = re.compile(rf"^(?:ROOT )?%?(?P<name>\S+) = (?P<shape>.*?) (?P<kind>{_KINDS})(?:-start)?\((?P<rest>.*)$")
_COMPUTATION = re.compile(r"^(?:ENTRY )?%?(?P<name>[\w.-]+) .*\{$")
_WHILE = re.compile(r" while\(%?([\w.-]+)\), condition=%?([\w.-]+), body=%?([\w.-]+)")
_CALLED = re.compile(r"(?:calls|to_apply|true_computation|false_computation)=%?([\w.-]+)|branch_computations=\{([^}]*)\}")
_INTEGER = r" s\d+\[\] constant\((-?\d+)\)"
_WHOLE = re.compile(r"/whole\((?P<why>.*)\)$")


@dataclasses.dataclass(frozen=True)
class Collective:
    """One collective operation of the program."""

    kind: str  # "all-gather"
    shape: str  # of its result on one device: "f32[512,128]"
    group_count: int
    group_size: int
    bytes_sent: float  # by one device, each time
    times: int | None  # a run; None: in a loop of unknown length, counted once in sums
    operation: str  # what of the program it belongs to: "jit(step)/dot_general"
    source: str  # the user's line, "train.py:41"; empty if it is not known
    fallback: str  # why a whole array was gathered for an operation that cannot work on parts; mostly empty
    seconds: float  # estimated, each time

    @property
    def total_bytes(self) -> float:
        return self.bytes_sent * (self.times or 1)

    @property
    def total_seconds(self) -> float:
        return self.seconds * (self.times or 1)


@dataclasses.dataclass(frozen=True)
class Report:
    """A program's collectives, those that send most first."""

    name: str
    num_devices: int
    collectives: list[Collective]
    argument_bytes: int  # on one device, as the next two
    result_bytes: int
    temporary_bytes: int

    @property
    def bytes_sent(self) -> float:
        return sum(c.total_bytes for c in self.collectives)

    @property
    def seconds(self) -> float:
        return sum(c.total_seconds for c in self.collectives)

    @property
    def fallbacks(self) -> list[Collective]:
        return [c for c in self.collectives if c.fallback]

    def __str__(self) -> str:
        total = self.argument_bytes + self.result_bytes + self.temporary_bytes
        lines = [
            f"{self.name} on {self.num_devices} devices: each sends {_size(self.bytes_sent)} in {len(self.collectives)}"
            f" collectives, about {_duration(self.seconds)}; needs {_size(total)} (arguments"
            f" {_size(self.argument_bytes)}, results {_size(self.result_bytes)}, temporary {_size(self.temporary_bytes)})"
        ]
        if self.collectives:
            rows = [("collective", "result", "groups", "sent", "times", "about", "operation", "source")]
            rows += [_row(c) for c in self.collectives]
            widths = [max(map(len, column)) for column in zip(*rows)]
            lines += ["  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in rows]
        if self.fallbacks:
            lines.append(f"gathered whole because an operation cannot work on parts: {len(self.fallbacks)}")
            lines += [f"  {c.operation}: {c.fallback}; {_size(c.total_bytes)} {c.source}".rstrip() for c in self.fallbacks]
        return "\n".join(lines)


def report(compiled, *, bytes_per_second: float = 5e9, latency_seconds: float = 2e-5) -> Report:
    """The traffic of a compiled program. Times are estimates from a link's rate and a collective's latency."""
    text = compiled.as_text()
    memory = compiled.memory_analysis()
    name = re.match(r"HloModule ([^,\s]+)", text)
    devices = re.search(r"\b(?:num_partitions|replica_count)=(\d+)", text.split("\n", 1)[0])
    program = _Program(text)
    count = int(devices[1]) if devices else 1
    collectives = list(program.collectives(count, bytes_per_second, latency_seconds))
    collectives.sort(key=lambda c: -c.total_bytes)
    return Report(
        name=name[1] if name else "",
        num_devices=count,
        collectives=collectives,
        argument_bytes=memory.argument_size_in_bytes,
        result_bytes=memory.output_size_in_bytes - memory.alias_size_in_bytes,
        temporary_bytes=memory.temp_size_in_bytes,
    )


class _Program:
    """The computations of HLO text, and how often each runs."""

    def __init__(self, text: str):
        self.lines: dict[str, list[str]] = {}
        entry, current = "", []
        for line in text.splitlines():
            head = _COMPUTATION.match(line)
            if head:
                current = self.lines[head["name"]] = []
                entry = head["name"] if line.startswith("ENTRY") else entry
            elif line.startswith(" "):
                current.append(line.strip())
        self.times: dict[str, int | None] = {}
        self._count(entry, 1)

    def _count(self, name: str, times: int | None) -> None:
        if name not in self.lines:
            return
        known = self.times.get(name, 0)
        self.times[name] = None if times is None or known is None else known + times
        for line in self.lines[name]:
            loop = _WHILE.search(line)
            if loop:
                trips = self._trip_count(name, *loop.groups())
                self._count(loop[3], None if times is None or trips is None else times * trips)
                continue
            if " fusion(" in line or re.search(rf" (?:{_KINDS})", line):
                continue  # no collective inside
            for one, several in _CALLED.findall(line):
                for called in [one] if one else re.findall(r"[\w.-]+", several):
                    self._count(called, times)

    def _trip_count(self, computation: str, state: str, condition: str, body: str) -> int | None:
        """Of loops that count from one constant up to another, as JAX's do."""
        limit = re.search(r"ROOT .*?\((.*?)\).*calls=%?([\w.-]+)", "\n".join(self.lines[condition]))
        inner = "\n".join(self.lines[condition] + (self.lines.get(limit[2], []) if limit else []))
        bounds = re.findall(_INTEGER, inner)
        index = re.findall(r"get-tuple-element\(.*?\), index=(\d+)", inner)
        if len(bounds) != 1 or len(index) != 1 or "direction=LT" not in inner:
            return None
        first = self._definition(computation, self._element(computation, state, int(index[0])), _INTEGER)
        step = self._step(body, int(index[0]))
        if first is None or step <= 0:
            return None
        return max(0, math.ceil((int(bounds[0]) - int(first)) / step))

    def _step(self, body: str, index: int) -> int:
        """The constant that a loop's body adds to its counter: 1, JAX's own, where the addition is not to be seen."""
        root = re.search(r"ROOT %?([\w.-]+) = ", "\n".join(self.lines[body]))
        counter = self._element(body, root[1], index) if root else ""
        fused = self._definition(body, counter, r" fusion\(.*calls=%?([\w.-]+)")
        if fused:
            text = "\n".join(self.lines.get(fused, []))
            steps = re.findall(_INTEGER, text) if re.search(r"ROOT \S+ = s\d+\[\] add\(", text) else []
        else:
            operands = self._definition(body, counter, r" add\((.*?)\)") or ""
            steps = [self._definition(body, name, _INTEGER) for name in re.findall(r"%?([\w.-]+)", operands)]
            steps = [step for step in steps if step is not None]
        return int(steps[0]) if len(steps) == 1 else 1

    def _element(self, computation: str, state: str, index: int) -> str:
        """The name of element `index` of the tuple `state`; empty if that is no tuple."""
        elements = self._definition(computation, state, r" tuple\((.*?)\)(?:,|$)")
        return re.findall(r"%?([\w.-]+)", elements)[index] if elements else ""

    def _definition(self, computation: str, name: str, pattern: str) -> str | None:
        """What the pattern's group finds in the line that defines `name`."""
        for line in self.lines[computation]:
            if re.match(rf"(?:ROOT )?%?{re.escape(name)} = ", line):
                found = re.search(pattern, line)
                return found[1] if found else None
        return None

    def collectives(self, devices: int, bytes_per_second: float, latency_seconds: float):
        for computation, times in self.times.items():
            for line in self.lines[computation]:
                match = _COLLECTIVE.match(line)
                if match:
                    yield _collective(match, times, devices, bytes_per_second, latency_seconds)


def _collective(match, times, devices, bytes_per_second, latency_seconds) -> Collective:
    kind, rest = match["kind"], match["rest"]
    count, size = _groups(rest, devices)
    sent = _bytes_sent(kind, _bytes(match["shape"]), size)
    name, source = _metadata(rest)
    whole = _WHOLE.search(name)
    return Collective(
        kind=kind,
        shape=re.sub(r"\{[\d,]*\}", "", match["shape"]),
        group_count=count,
        group_size=size,
        bytes_sent=sent,
        times=times,
        operation=name[: whole.start()] if whole else name,
        source=source,
        fallback=whole["why"] if whole and kind == "all-gather" else "",
        seconds=latency_seconds * max(1, math.ceil(math.log2(max(size, 2)))) + sent / bytes_per_second,
    )


def _metadata(rest: str) -> tuple[str, str]:
    """Operation and source line."""
    texts = dict(re.findall(r'(op_name|source_file)="((?:[^"\\]|\\.)*)"', rest))
    line = re.search(r"source_line=(\d+)", rest)
    source = f"{texts['source_file']}:{line[1]}" if line and "source_file" in texts else ""
    return texts.get("op_name", ""), source


def _groups(rest: str, devices: int) -> tuple[int, int]:
    tiled = re.search(r"replica_groups=\[(\d+),(\d+)\]", rest)
    if tiled:
        return int(tiled[1]), int(tiled[2])
    listed = re.search(r"replica_groups=\{(\{[\d,{}]*\})\}", rest)
    if listed:
        groups = listed[1].strip("{}").split("},{")
        return len(groups), max(len(group.split(",")) for group in groups)
    pairs = re.search(r"source_target_pairs=\{(\{[\d,{}]*\})\}", rest)
    if pairs:
        return len(re.findall(r"\{", pairs[1])), 2
    return 1, devices


def _bytes_sent(kind: str, result: float, size: int) -> float:
    share = (size - 1) / size
    if kind == "all-reduce":
        return 2 * result * share
    if kind == "reduce-scatter":
        return result * (size - 1)
    return result if kind.startswith("collective") else result * share


def _bytes(shape: str) -> float:
    total = 0.0
    for element, dims in re.findall(r"([a-z]\w*)\[([\d,]*)\]", shape):
        bits = _BITS.get(element) or int(re.match(r"[a-z]+(\d+)", element)[1])
        total += math.prod(int(d) for d in dims.split(",") if d) * bits / 8
    return total


def _row(c: Collective) -> tuple[str, ...]:
    times = "?" if c.times is None else str(c.times)
    groups = f"{c.group_count}x{c.group_size}"
    return c.kind, c.shape, groups, _size(c.bytes_sent), times, _duration(c.seconds), c.operation, c.source


def _size(count: float) -> str:
    if count < 1024:
        return f"{count:.0f} B"
    exponent = min(3, int(math.log2(count)) // 10)
    return f"{count / 1024**exponent:.1f} {' KMG'[exponent]}iB"


def _duration(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} us"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"
