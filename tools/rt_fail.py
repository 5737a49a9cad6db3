#!/usr/bin/env python3
"""The decompiler's development loop: round-trips a corpus and writes down what failed, with a diff of the instructions.

    tools/rt_fail.py 3.11                      # 3,000 stdlib functions; corpora stay in the temporary folder
    tools/rt_fail.py 3.11 --seed 7 --n 1000    # others
    tools/rt_fail.py 3.11 --limit 300          # the first 300 of them
    tools/rt_fail.py 3.11 --ids 17,42 --print  # these, with source and diff on the terminal
    tools/rt_fail.py 3.11 --files              # whole stdlib files
    tools/rt_fail.py 3.11 --root DIR           # functions of another library

failures.txt (its place is printed) has the failures, most frequent kind first, smallest function first.
"""
import argparse
import collections
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))
import roundtrip  # noqa: E402


def kind_of(row):
    if row["status"] == "different":
        return row["status"]
    return "%s: %s" % (row["status"], row["why"].split("\n")[0][:100])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version")
    parser.add_argument("--bin", default=str(roundtrip.ROOT / "build" / "pellucid"))
    parser.add_argument("--n", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=20251)
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--ids", type=lambda text: [int(i) for i in text.split(",")], default=[])
    parser.add_argument("--files", action="store_true")
    parser.add_argument("--root", action="append", default=[])
    parser.add_argument("--print", action="store_true", dest="show")
    args = parser.parse_args()
    if not roundtrip.rt_bench_path():
        raise SystemExit("rt_bench.py is not on this machine (set PELLUCID_SHARED)")
    work = pathlib.Path(tempfile.gettempdir()) / "pellucid-rt"
    kind = "files" if args.files else "-".join(pathlib.Path(r).name for r in args.root) or "stdlib"
    label = "%s-%s-%d-%d" % (args.version, kind, args.n, args.seed)
    folder = roundtrip.corpus(args.version, work / label, args.n, args.seed, args.files, args.root)
    out = work / ("%s.%s" % (label, roundtrip.ROOT.name))  # two checkouts may measure at once
    rows = roundtrip.measure(args.bin, folder, out, args.limit, args.ids)
    failed = [row for row in rows if row["status"] not in ("deep", "equal")]
    frequency = collections.Counter(map(kind_of, failed))
    failed.sort(key=lambda row: (-frequency[kind_of(row)], kind_of(row), row["nbytes"]))
    report = []
    for row in failed:
        source = out / ("%05d.py" % row["id"])
        report.append("=" * 100 + "\n%d %s (%s, %d bytes): %s"
                      % (row["id"], row["name"], row["file"], row["nbytes"], kind_of(row)))
        report.append(source.read_text(errors="surrogatepass") if source.exists() else "")
        report.append(row["why"] + "\n")
    (out / "failures.txt").write_text("\n".join(report), errors="surrogatepass")
    if args.show:
        print("\n".join(report) if failed else "\n".join((out / ("%05d.py" % row["id"])).read_text() for row in rows))
    for kind, count in frequency.most_common(25):
        print("%5d  %s" % (count, kind))
    print(" ".join("%s %s" % (k, v if isinstance(v, int) else "%.2f" % v) for k, v in roundtrip.summary(rows).items()))
    print(out / "failures.txt")


if __name__ == "__main__":
    main()
