#!/usr/bin/env python3
"""scripts/paired.py on tables whose answer is known: tests/paired.py SCRIPT"""
import pathlib
import subprocess
import sys
import tempfile

HEADER = "id,stage,arm,epsilon,seed,value_nats,status\n"


def row(arm, seed, value, epsilon=2, stage="test", status="done"):
    return f"x,{stage},{arm},{epsilon},{seed},{value},{status}\n"


# Gains 1, 2, 3, 4 and, of ours_x2, 2 less; a cell that is not done, a trial of the tuning and a seed of one arm alone count for nothing.
TABLE = HEADER + "".join(row("ours", s, 10) + row("ours_x2", s, 12) + row("other", s, 11 + s) + row("other_x2", s, 11 + s) for s in range(4))
TABLE += row("ours", 0, 99, stage="tuning") + row("other", 9, 99) + row("ours", 8, 5, status="failed") + row("other", 8, 5)


def says(folder, table, *arguments):
    file = pathlib.Path(folder) / "protocol.csv"
    file.write_text(table)
    done = subprocess.run([sys.executable, sys.argv[1], *arguments[:2], str(file), *arguments[2:]], capture_output=True, text=True)
    return done.stdout + done.stderr


def main():
    wanted = [
        # t of three degrees of freedom at 97.5 % is 3.182; deviation of 1, 2, 3, 4 is 1.291; two of sixteen sign flips are as large.
        (TABLE, ("ours", "other"), "gain +2.5000 (+0.4460 … +4.5540), p = 0.125, 4 of 4"),
        (TABLE, ("ours", "other", "--factors", "1", "2"), "gain +1.5000 (-0.5540 … +3.5540)"),
        (TABLE, ("ours", "nobody"), "nobody: no such arm"),
        (TABLE + row("ours", 0, 1, epsilon=8), ("ours", "other"), "choose one by --epsilon"),
        (TABLE + row("ours", 0, 1, epsilon=8), ("ours", "other", "--epsilon", "2"), "gain +2.5000"),
    ]
    with tempfile.TemporaryDirectory() as folder:
        wrong = [f"{arguments}: {said!r} lacks {part!r}" for table, arguments, part in wanted
                 if part not in (said := says(folder, table, *arguments))]
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
