# tries: tables, views and triggers beside tiletune's that never end, or need functions and modules that do not exist
# must not: evaluate them, or keep the rows from being read and merged
source "$REPOSITORY/tests/attacks/common.sh"
recorded a.db
edit a.db "DROP VIEW best; DROP VIEW ranking" \
  "CREATE VIEW best AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n" \
  "CREATE VIEW ranking AS SELECT unheard_of(id) FROM trial" \
  "CREATE TABLE mine (a TEXT COLLATE NOCASE, b AS (a || 'x') NOT NULL)" "INSERT INTO mine VALUES (1)" \
  "CREATE INDEX of_mine ON mine(a COLLATE NOCASE)" \
  "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'NOCASE', 'unheard_of') WHERE name = 'of_mine'" \
  "CREATE TRIGGER t INSTEAD OF INSERT ON best BEGIN DELETE FROM trial; END" \
  "CREATE VIRTUAL TABLE words USING fts5(word)"
expected=0 every_reader a.db
recorded b.db
edit b.db "CREATE TABLE long (a, b AS (a) NOT NULL)" \
  "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 300) INSERT INTO long(a) SELECT i FROM n" \
  "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'AS (a)', 'AS (length(hex(zeroblob(50000000 + a))))') WHERE name = 'long'"
expected=0 every_reader b.db
