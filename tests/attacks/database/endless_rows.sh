# tries: a small database whose pages refer to each other so that its rows never end
# must not: read forever, or fill the memory
source "$REPOSITORY/tests/attacks/common.sh"
recorded a.db
edit a.db "VACUUM"
python3 - <<'PY'
import sqlite3, struct
database = sqlite3.connect("a.db")
size = database.execute("PRAGMA page_size").fetchone()[0]
root = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'trial'").fetchone()[0]
database.close()
data = bytearray(open("a.db", "rb").read())
page = lambda number: data[(number - 1) * size : number * size]
first_child = struct.unpack(">I", page(root)[8:12])[0]  # an interior page ends its header with the right-most child
levels, children = 12, 200

def interior(child):
    cells = b"".join(struct.pack(">I", child) + bytes([i & 0x7F]) for i in range(children))
    start = size - len(cells)
    pointers = b"".join(struct.pack(">H", start + 5 * i) for i in range(children))
    header = struct.pack(">BHHHBI", 5, 0, children, start, 0, child)
    body = header + pointers
    return body + bytes(start - len(body)) + cells

if page(root)[0] != 5:
    raise SystemExit("the table is one page")
pages = len(data) // size
for level in range(levels):
    data += interior(pages + level + 2 if level + 1 < levels else first_child)
data[(root - 1) * size : root * size] = interior(pages + 1)
data[28:32] = struct.pack(">I", pages + levels)
data[92:96] = data[24:28]
open("a.db", "wb").write(data)
PY
ulimit -v 4000000
expected=2 every_reader a.db
