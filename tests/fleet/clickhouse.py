# SPDX-License-Identifier: GPL-2.0-or-later
"""Two clickhouse-server processes with distributed tables, filled from databases of load by export -f csv."""
import json
import os
import pathlib
import re
import socket
import subprocess
import time
import urllib.error
import urllib.request

QUESTIONS = pathlib.Path(__file__).resolve().parent / "clickhouse"
CLUSTER = "fleet"
# what csv writes in quotes, or a NULL: nothing between commas
CELL = re.compile(rb'"(?:[^"]|"")*"|(?<![^,\n])(?=[,\r])')
# module csv reads NULL and an empty text as the same
ROW = re.compile(rb'(?:"(?:[^"]|"")*"|[^"\n])*\n')
CONFIG = """<yandex><logger><level>warning</level><console>1</console></logger><listen_host>127.0.0.1</listen_host>
<http_port>{http}</http_port><tcp_port>{tcp}</tcp_port><path>{dir}/</path><tmp_path>{dir}/tmp/</tmp_path>
<mark_cache_size>100000000</mark_cache_size><users_config>users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<remote_servers><{cluster}>{shards}</{cluster}></remote_servers></yandex>
"""
SHARD = "<shard><replica><host>127.0.0.1</host><port>{}</port></replica></shard>"
USERS = """<yandex><profiles><default><join_use_nulls>1</join_use_nulls>
<insert_distributed_sync>1</insert_distributed_sync></default></profiles><quotas><default/></quotas>
<users><default><password/><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users>
</yandex>
"""


def free_ports(n):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Cluster:
    """with Cluster(TOOLS, DIRECTORY) as c: c.ask(SERVER, STATEMENT)."""

    def __init__(self, tools, work):
        self.tools, self.work, self.servers = tools, work, []
        ports = free_ports(4)
        self.http, self.tcp = ports[:2], ports[2:]

    def __enter__(self):
        try:
            self.start()
        except BaseException:  # __exit__ is called only after this has returned
            self.__exit__()
            raise
        return self

    def start(self):
        libraries = ":".join(str(p) for p in pathlib.Path(self.tools, "usr/lib").glob("*-linux-gnu"))
        for i in range(2):
            home = self.work / f"clickhouse{i}"
            home.mkdir()
            (home / "users.xml").write_text(USERS)
            (home / "config.xml").write_text(CONFIG.format(
                http=self.http[i], tcp=self.tcp[i], dir=home, cluster=CLUSTER, shards="".join(map(SHARD.format, self.tcp))))
            with open(home / "log", "w") as log:
                self.servers.append(subprocess.Popen(
                    [f"{self.tools}/usr/sbin/clickhouse-server", "--config-file=config.xml"], cwd=home, stdout=log, stderr=log,
                    env=dict(os.environ, LD_LIBRARY_PATH=libraries)))
        for i in range(2):
            self.until_answers(i)

    def __exit__(self, *_):
        for server in self.servers:
            server.terminate()
        for server in self.servers:
            server.wait()

    def until_answers(self, i):
        while True:
            try:
                self.ask(i, "SELECT 1")
                return
            except urllib.error.URLError:
                if self.servers[i].poll() is not None:
                    raise SystemExit((self.work / f"clickhouse{i}" / "log").read_text())
                time.sleep(0.1)

    def post(self, i, path, data):
        try:
            request = urllib.request.Request(f"http://127.0.0.1:{self.http[i]}/{path}", data=data)
            with urllib.request.urlopen(request) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            raise SystemExit(f"clickhouse: {error.read().decode()}") from None

    def ask(self, i, sql):
        return self.post(i, "", sql.encode())

    def insert(self, table, path):
        """At the first server, which distributes the rows."""
        with open(path, "rb") as rows:
            sql = urllib.request.quote(f"INSERT INTO `{table}` FORMAT CSV")
            request = urllib.request.Request(f"http://127.0.0.1:{self.http[0]}/?query={sql}", data=rows)
            request.add_header("Content-Length", str(os.path.getsize(path)))
            urllib.request.urlopen(request).read()

    def rows(self, sql):
        """Of the first server, as text; NULL: None."""
        answer = json.loads(self.ask(0, sql + " FORMAT JSONCompact"))
        return [[v if v is None else repr(v) if isinstance(v, float) else str(v) for v in row] for row in answer["data"]]


def csv_rows(table):
    """Rows of a table that export wrote, with NULL as ClickHouse reads it, without the row of names."""
    for i, row in enumerate(ROW.finditer(table)):
        if i:
            yield CELL.sub(lambda cell: cell.group() or rb"\N", row.group())


def add_csv(analyze, source, host, uuid, work):
    """Appends the rows of a database to a file for each table."""
    exported = work / "csv"
    subprocess.run([analyze, "export", "-f", "csv", "-o", exported, source], check=True, stderr=subprocess.DEVNULL)
    for path in exported.iterdir():
        rows = list(csv_rows(path.read_bytes()))
        path.unlink()
        if not rows:
            continue
        with open(work / "tables" / path.stem, "ab") as table:
            for number, row in enumerate(rows, 1):
                table.write(b'"%s","%s",%d,%s' % (host.encode(), uuid.encode(), number, row))


def fill(cluster, analyze, sources, work):
    """sources: (path, host, UUID). Returns the number of files, one for each table with rows."""
    (work / "tables").mkdir()
    statements = subprocess.run([analyze, "schema", "--clickhouse-cluster", CLUSTER], stdout=subprocess.PIPE, text=True,
                                check=True).stdout.split(";\n")[:-1]
    statements += [f.read_text() for f in sorted(QUESTIONS.glob("v_*.sql"))]
    for i in range(2):
        for sql in statements:
            cluster.ask(i, sql)
    for source in sources:
        add_csv(analyze, *source, work)
    tables = list((work / "tables").iterdir())
    for table in tables:
        cluster.insert(table.name, table)
    return tables
