"""Adds up JUnit reports and prints "N passed, N failed, N skipped"; exits 1 where a test failed or a report is missing."""

import sys
import xml.etree.ElementTree as ET


def count(path):
    """(passed, failed, skipped) of one report."""
    cases = list(ET.parse(path).iter("testcase"))
    failed = sum(c.find("failure") is not None or c.find("error") is not None for c in cases)
    skipped = sum(c.find("skipped") is not None for c in cases)
    return len(cases) - failed - skipped, failed, skipped


def main():
    total = [0, 0, 0]
    for path in sys.argv[1:]:
        try:
            counts = count(path)
        except (OSError, ET.ParseError) as error:
            print(f"no report: {error}")
            counts = (0, 1, 0)
        total = [a + b for a, b in zip(total, counts)]
    print("{} passed, {} failed, {} skipped".format(*total))
    sys.exit(total[1] > 0)


if __name__ == "__main__":
    main()
