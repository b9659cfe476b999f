import json
import sqlite3
import subprocess

subprocess.run(["tiletune", "sweep", "configs/quick.json", "--replay", "results/h200/quick.db", "--cache", "dirty",
                "--db", "notebook.db", "--format", "json", "--quiet"], check=True, capture_output=True)

database = sqlite3.connect("notebook.db")
database.row_factory = sqlite3.Row
for row in database.execute("SELECT template, parameters, median_us FROM ranking ORDER BY time_us LIMIT 3"):
    print(row["template"], json.loads(row["parameters"])["BM"], round(row["median_us"], 1))
