"""The command shoal-tune, which is a program beside this file."""

import os
import sys


def main():
    program = os.path.join(os.path.dirname(__file__), "shoal-tune")
    os.execv(program, [program, *sys.argv[1:]])
