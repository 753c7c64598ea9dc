#!/usr/bin/env python3
"""Made-up bicycle rentals, for docs/data.md: a table whose fields end at semicolons, one row per rental, several rentals per
customer. Duration, bicycle and rating hang together, so that there is something to learn."""
import argparse
import csv
import datetime
import random
import sys

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rows", type=int, default=3000)
parser.add_argument("--seed", type=int, default=1)
asked = parser.parse_args()

draw = random.Random(asked.seed)
towns = ["Lyon", "Graz", "Utrecht", "Turin"]
remarks = {
    "good": ["Everything went well and the brakes were fine.", "A smooth ride along the river, and nothing to complain about."],
    "bad": ["The chain came off twice and the saddle was loose.", "The lights did not work, so we had to walk back home."],
}
table = csv.writer(sys.stdout, delimiter=";", lineterminator="\n")
table.writerow(["rental_id", "customer_id", "email", "town", "date", "bicycle", "minutes", "rating", "remark"])
customers = max(1, asked.rows // 3)
for row in range(asked.rows):
    customer = draw.randrange(customers)
    town = towns[customer % len(towns)]
    bicycle = draw.choices(["city", "electric", "cargo"], [6, 3, 1])[0]
    minutes = max(5, round(draw.gauss({"city": 30, "electric": 55, "cargo": 90}[bicycle], 12)))
    happy = draw.random() < {"city": 0.6, "electric": 0.85, "cargo": 0.4}[bicycle]
    day = datetime.date(2026, 1, 1) + datetime.timedelta(days=draw.randrange(300))
    table.writerow([row, f"K{customer:04}", f"k{customer}@example.org", town, day.isoformat(), bicycle, minutes,
                    "good" if happy else "bad", draw.choice(remarks["good" if happy else "bad"]) if draw.random() < 0.7 else ""])
