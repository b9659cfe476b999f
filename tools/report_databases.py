"""Databases whose reports tools/check_report opens, made from results/h200/quick.db."""
import contextlib
import json
import pathlib
import re
import shutil
import sqlite3

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONFIGURATIONS = 10_000

HOSTILE = ("</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'><!--<script> \u2028 \" & ${1}"
           " \u202egnp\u200b\U000e0041 \\u202e")
# What cannot be seen, or turns text around, is shown by its number.
SHOWN = HOSTILE.replace("\u2028", "\\u2028").replace("\u202e", "\\u202e").replace("\u200b", "\\u200b") \
    .replace("\U000e0041", "\\udb40\\udc41")
HOSTILE_PARAMETER = "a.b['c']</td><b onclick=hacked()>"


def copied(folder, name):
    target = folder / name
    shutil.copy(ROOT / "results/h200/quick.db", target)
    return target


@contextlib.contextmanager
def changing(database):
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.row_factory = sqlite3.Row
        yield connection


def kernels_of(connection):
    rows = [dict(row) for row in connection.execute("SELECT * FROM trial WHERE kind = 'kernel'")]
    for row in rows:
        del row["id"]
    return rows


def insert(connection, rows):
    names = ", ".join(rows[0])
    marks = ", ".join(":" + name for name in rows[0])
    connection.executemany(f"INSERT INTO trial ({names}) VALUES ({marks})", rows)


def make_large(folder):
    """Copies of one row: two templates and four parameters, every third row screened out, some refused."""
    database = copied(folder, "large.db")
    with changing(database) as connection:
        sample = next(row for row in kernels_of(connection) if row["outcome"] == "ok")
        sample["timed_in"] = "sampling"
        connection.execute("DELETE FROM trial WHERE kind != 'baseline'")
        connection.execute("DELETE FROM sweep_trial")
        rows = []
        for i in range(CONFIGURATIONS + 30):
            time = 100 + (i * 7919 % 10007) / 10
            rows.append(dict(sample, key=f"{i:032x}", template="sgemm_one" if i % 2 else "sgemm_two",
                             parameters=f'{{"BM":{16 << i % 4},"BN":{16 << i % 5},"id":{i},"SWIZZLE":"s{i % 3}"}}',
                             median_us=time, ci_low_us=time - 1, ci_high_us=time + 1, registers=32 + i % 200,
                             occupancy=(1 + i % 16) / 16, spill_bytes=i % 7 * 8,
                             outcome="screened_out" if i % 3 == 0 else "ok"))
        for i, refused in enumerate(rows[CONFIGURATIONS:]):
            refused.update(outcome="refused", median_us=None, cache="",
                           reason=f"dynamic shared memory {i * 1024} B > 232448 B a block may have")
        insert(connection, rows)
    return database


def on_other_gpu(row):
    """Slower by 2 to 8. The parameters are listed the other way round, 1 for true, and of one template not all of them, so that
    its rows are other configurations."""
    parameters = {name: int(value) if isinstance(value, bool) else value
                  for name, value in reversed(json.loads(row["parameters"]).items())}
    if row["template"] == "sgemm_blocktile_2d":
        del parameters["TM"]
    return dict(row, gpu="NVIDIA A100", key="a100" + row["key"], median_us=row["median_us"] * (2 + row["registers"] % 7),
                parameters=json.dumps(parameters))


def make_two_gpus(folder, name="gpus.db"):
    """Cold, and then warm, when the other GPU is slower by 5."""
    database = copied(folder, name)
    with changing(database) as connection:
        cold = kernels_of(connection)
        insert(connection, [on_other_gpu(row) for row in cold])
        warm = [dict(row, cache="warm", key="warm" + row["key"]) for row in cold]
        insert(connection, warm)
        insert(connection, [dict(row, gpu="NVIDIA A100", key="a100" + row["key"], median_us=5 * row["median_us"])
                            for row in warm])
    return database


def outcomes():
    """All that tiletune knows, without that of rows under way, which no report counts."""
    names = re.findall(r'\{Outcome::\w+, "(\w+)"\}', (ROOT / "src/base/outcome.h").read_text(encoding="utf-8"))
    return [name for name in names if name != "dispatched"]


def make_hostile(folder):
    """Names that are code, and failures of every kind."""
    database = copied(folder, "hostile.db")
    with changing(database) as connection:
        failed = [dict(row, key=outcome + row["key"], outcome=outcome, median_us=None, parameters="{}")
                  for row in kernels_of(connection)[:1] for outcome in outcomes()]
        insert(connection, failed)
        connection.execute("UPDATE trial SET template = ?, problem = ?, gpu = ?, reason = ?, warnings = ?, host = ?",
                           [HOSTILE] * 6)
        connection.execute("UPDATE trial SET parameters = json_set(parameters, ?, ?) WHERE kind = 'kernel'",
                           [f'$."{HOSTILE_PARAMETER}"', HOSTILE])
        connection.execute("UPDATE sweep SET command = ?, gpu = ?, config_file = ?, config = ?", [HOSTILE] * 4)
    return database


def make_partly_verified(folder):
    """Only the best results were compared."""
    database = copied(folder, "partly.db")
    with changing(database) as connection:
        connection.execute("UPDATE trial SET relative_error = NULL WHERE kind = 'kernel' AND id NOT IN (SELECT id FROM trial "
                           "WHERE kind = 'kernel' AND outcome = 'ok' ORDER BY median_us LIMIT 2)")
    return database


def make_of_source(folder, source):
    """Rows that were not measured here: without intervals, finals and screening, and some that failed elsewhere."""
    database = copied(folder, f"{source}.db")
    with changing(database) as connection:
        connection.execute("DELETE FROM sweep_trial")
        connection.execute("DELETE FROM trial WHERE kind != 'kernel' OR outcome = 'screened_out'")
        failed = [dict(row, key=outcome + row["key"], outcome=outcome, median_us=None, parameters="{}")
                  for row in kernels_of(connection)[:1] for outcome in outcomes() if outcome != "screened_out"]
        insert(connection, failed)
        connection.execute("UPDATE trial SET source = ?, ci_low_us = NULL, ci_high_us = NULL, timed_in = '', cache = '', "
                           "noise_floor_percent = NULL, relative_error = NULL, figures = NULL", [source])
        if source == "predicted":
            connection.execute("UPDATE trial SET predicted_us = median_us, median_us = NULL")
    return database


def make_words_of_javascript(folder):
    """Names that every object of JavaScript has, where charts put names: parameters, templates, GPUs."""
    database = make_two_gpus(folder, "words.db")
    with changing(database) as connection:
        connection.execute("UPDATE trial SET parameters = json_set(json_remove(parameters, '$.BM'), '$.\"__proto__\"', "
                           "json_extract(parameters, '$.BM'), '$.constructor', id % 3, '$.toString', "
                           "CASE id % 2 WHEN 0 THEN '__proto__' ELSE 'valueOf' END) WHERE kind = 'kernel'")
        connection.execute("UPDATE trial SET template = 'constructor' WHERE template = 'sgemm_warptile'")
        connection.execute("UPDATE trial SET problem = '__proto__', gpu = replace(gpu, 'NVIDIA H200', '__proto__')")
    return database


def make_hostile_gpus(folder):
    """The same names, of two GPUs and of a ladder."""
    database = make_two_gpus(folder, "hostile_gpus.db")
    with changing(database) as connection:
        connection.execute("UPDATE trial SET template = ? || template, gpu = ? || gpu, problem = ?, scalars = ?", [HOSTILE] * 4)
        connection.execute("UPDATE trial SET parameters = json_set(parameters, ?, ?) WHERE kind = 'kernel'",
                           [f'$."{HOSTILE_PARAMETER}"', HOSTILE])
        rungs = [row[0] for row in connection.execute("SELECT DISTINCT template FROM trial WHERE kind = 'kernel'")]
        connection.execute("UPDATE sweep SET config = ?", [json.dumps({"view": "ladder", "templates": rungs})])
    return database
