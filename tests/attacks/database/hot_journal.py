"""hot_journal.py DATABASE [NAME]: what a writer that was killed leaves, its journal naming the super-journal NAME."""
import shutil
import sqlite3
import struct
import sys

database, super_journal = sys.argv[1], sys.argv[2:]
page_size = struct.unpack(">H", open(database, "rb").read(18)[16:])[0]
writer = sqlite3.connect(database, isolation_level=None)
writer.executescript("PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN; UPDATE trial SET reason = 'torn';")
for ending in ("", "-journal"):
    shutil.copyfile(database + ending, database + ending + ".left")
writer.execute("ROLLBACK")
writer.close()
for ending in ("", "-journal"):
    shutil.move(database + ending + ".left", database + ending)
for name in map(str.encode, super_journal):
    record = struct.pack(">I", 0x40000000 // page_size + 1) + name + struct.pack(">II", len(name), sum(name))
    with open(database + "-journal", "ab") as journal:
        journal.write(record + bytes.fromhex("d9d505f920a163d7"))
