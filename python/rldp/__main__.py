"""`python3 -m rldp rows FILE`: rows for the program; any other words are the program's own."""
import sys

from . import _program, rows

if __name__ == "__main__":
    if sys.argv[1:2] == ["rows"]:
        sys.exit(rows.main(sys.argv[2:]))
    _program.main()
