"""A real Elasticsearch on loopback, for tests and for trying things out.

    python tests/services/elasticsearch/server.py start [--version 9.2.4] [--secure] [--nodes 3]    prints the URL
    python tests/services/elasticsearch/server.py stop

Fetches the server from Maven Central, builds the plugin that gives it what that distribution lacks (`AnalysersAndRoot.java`), starts
it as a user who is not root, waits until it is healthy, and stops it by its pid file. Needs a JDK (21 or newer) and Maven. What was
fetched and built is kept in `KGAUDIT_ES_HOME` (default: /var/tmp/kgaudit-elasticsearch-UID).
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import pwd
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

VERSION = "9.2.4"
OLDER_VERSION = "8.19.4"
PASSWORD = "loopback-only"
_NORI = {"9": "10.3.0", "8": "9.12.3"}
_USER = "kgaudit-es"
_HERE = Path(__file__).parent
_START_SECONDS = 180


class Unavailable(Exception):
    """What is needed to run a server is not here."""


@dataclass
class Node:
    """One running node. `kill` is for tests of faults."""

    folder: Path
    port: int
    command: list[str]
    environment: dict[str, str]
    launcher: subprocess.Popen[bytes] | None = None

    @property
    def pid_file(self) -> Path:
        return self.folder / "pid"

    def spawn(self) -> None:
        self.pid_file.unlink(missing_ok=True)
        with open(self.folder / "out", "ab") as out:
            self.launcher = subprocess.Popen(
                self.command, env=self.environment, stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True
            )

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Ends the server itself; its launcher ends with it."""
        try:
            pid = int(self.pid_file.read_text())
        except (OSError, ValueError):
            return
        try:
            os.kill(pid, number)
            for _ in range(300):
                os.kill(pid, 0)
                time.sleep(0.1)
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        if self.launcher is not None:
            self.launcher.wait(30)
        self.pid_file.unlink(missing_ok=True)


@dataclass
class Server:
    """A cluster of one node or more. `authority` is the file of its own certificate authority, where it is secured."""

    version: str
    nodes: list[Node] = field(default_factory=list)
    authority: Path | None = None

    @property
    def url(self) -> str:
        scheme = "https" if self.authority else "http"
        return f"{scheme}://{','.join(f'127.0.0.1:{node.port}' for node in self.nodes)}"

    def request(self, method: str, path: str, body: object = None, node: int = 0) -> dict[str, object]:
        """One call to the server, as its administrator."""
        scheme = "https" if self.authority else "http"
        request = urllib.request.Request(f"{scheme}://127.0.0.1:{self.nodes[node].port}{path}", method=method)
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        context = None
        if self.authority:
            context = ssl.create_default_context(cafile=str(self.authority))
            request.add_header("Authorization", "Basic " + base64.b64encode(f"elastic:{PASSWORD}".encode()).decode())
        with urllib.request.urlopen(request, data, timeout=30, context=context) as answer:
            found: dict[str, object] = json.loads(answer.read() or b"{}")
            return found

    def wait(self, node: int = 0, status: str = "yellow", nodes: int | None = None) -> None:
        """Until the node answers, all nodes have joined and the cluster's health is as asked."""
        deadline = time.monotonic() + _START_SECONDS
        count = nodes or len(self.nodes)
        why = ""
        while time.monotonic() < deadline:
            try:
                health = self.request(
                    "GET", f"/_cluster/health?wait_for_status={status}&wait_for_nodes=>={count}&timeout=5s", None, node
                )
                if not health.get("timed_out"):
                    return
            except (OSError, ValueError) as error:
                why = str(error)
            time.sleep(0.3)
        log = (self.nodes[node].folder / "out").read_text(errors="replace")[-3000:]
        raise RuntimeError(f"Elasticsearch was not healthy within {_START_SECONDS} s ({why}):\n{log}")

    def stop(self) -> None:
        for node in self.nodes:
            node.kill(signal.SIGTERM)
            shutil.rmtree(node.folder, ignore_errors=True)


def home() -> Path:
    """Where servers are kept between calls."""
    return Path(os.environ.get("KGAUDIT_ES_HOME") or f"/var/tmp/kgaudit-elasticsearch-{os.getuid()}")


def find_java() -> Path:
    """A JDK of version 21 or newer. Raises `Unavailable`."""
    named = [os.environ[name] for name in ("ES_JAVA_HOME", "JAVA_HOME") if os.environ.get(name)]
    on_path = shutil.which("javac")
    places = [Path(name) for name in named] + ([Path(on_path).resolve().parents[1]] if on_path else [])
    places += sorted(Path("/usr/lib/jvm").glob("*"), reverse=True)
    for place in places:
        if (place / "bin/javac").exists():
            told = subprocess.run([place / "bin/javac", "-version"], capture_output=True, text=True)
            number = re.search(r"javac (\d+)", told.stdout + told.stderr)
            if number and int(number[1]) >= 21:
                return place
    raise Unavailable("there is no JDK 21 or newer (looked at ES_JAVA_HOME, JAVA_HOME, PATH and /usr/lib/jvm)")


def prepare(version: str = VERSION) -> Path:
    """The unpacked server with the plugin, fetched and built where it is not there yet. Raises `Unavailable`."""
    java = find_java()
    place = home() / f"elasticsearch-{version}"
    if (place / "ready").exists():
        return place
    if not shutil.which("mvn"):
        raise Unavailable("Maven (mvn) is not installed")
    home().mkdir(mode=0o755, parents=True, exist_ok=True)
    work = home() / f"work-{os.getpid()}"
    try:
        _fetch(f"org.elasticsearch.distribution.integ-test-zip:elasticsearch:{version}:zip", work)
        nori = f"org.apache.lucene:lucene-analysis-nori:{_NORI[version.split('.')[0]]}"
        _fetch(nori, work)
        shutil.unpack_archive(work / f"elasticsearch-{version}.zip", work)
        made = work / f"elasticsearch-{version}"
        for script in (made / "bin").iterdir():
            script.chmod(0o755)
        _build_plugin(java, version, made, next(work.glob("*nori*.jar")))
        (made / "ready").touch()
        shutil.rmtree(place, ignore_errors=True)
        made.rename(place)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if os.getuid() == 0:
        _give_away(place)
    return place


def _fetch(artifact: str, to: Path) -> None:
    command = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={to}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Unavailable(f"Maven could not fetch {artifact}: {(done.stdout + done.stderr)[-1500:]}")


def _build_plugin(java: Path, version: str, server: Path, nori: Path) -> None:
    folder = server / "plugins/kgtest"
    classes = server / "classes"
    folder.mkdir(parents=True)
    classes.mkdir()
    source = (_HERE / "AnalysersAndRoot.java").read_text()
    # Elasticsearch 8 wants the settings beside the name.
    source = source.replace("(NAME)", "(name, settings)" if version.startswith("8.") else "(name)")
    (classes / "AnalysersAndRoot.java").write_text(source)
    release = "17" if version.startswith("8.") else "21"
    subprocess.run(
        [java / "bin/javac", "-nowarn", "--release", release, "-cp", f"{server}/lib/*:{nori}", "-d", classes,
         classes / "AnalysersAndRoot.java"],
        check=True, capture_output=True,
    )  # fmt: skip
    subprocess.run([java / "bin/jar", "cf", folder / "kgtest.jar", "-C", classes, "kgtest"], check=True)
    shutil.copy(nori, folder)
    shutil.rmtree(classes)
    properties = {
        "name": "kgtest", "description": "analysers and GET / for tests", "version": "1", "classname": "kgtest.AnalysersAndRoot",
        "java.version": release, "elasticsearch.version": version,
    }  # fmt: skip
    (folder / "plugin-descriptor.properties").write_text("".join(f"{name}={value}\n" for name, value in properties.items()))


def _give_away(place: Path) -> None:
    """Elasticsearch refuses to run as root: everything belongs to a user made for it."""
    try:
        pwd.getpwnam(_USER)
    except KeyError:
        subprocess.run(["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", _USER], check=True)
    subprocess.run(["chown", "-R", _USER, str(place)], check=True)


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def start(
    version: str = VERSION, *, nodes: int = 1, secure: bool = False, heap: str = "1g", settings: dict[str, str] | None = None
) -> Server:
    """Starts a cluster with empty data and waits until it is healthy."""
    place, java = prepare(version), find_java()
    ports = free_ports(2 * nodes)
    server = Server(version)
    names = [f"node-{number}" for number in range(nodes)]
    transports = [f"127.0.0.1:{port}" for port in ports[nodes:]]
    for number, name in enumerate(names):
        folder = home() / f"node-{os.getpid()}-{ports[number]}"
        config = folder / "config"
        shutil.copytree(place / "config", config)
        lines = {
            "cluster.name": f"kgaudit-{ports[0]}",
            "node.name": name,
            "network.host": "127.0.0.1",
            "http.port": str(ports[number]),
            "transport.port": str(ports[nodes + number]),
            "path.data": str(folder / "data"),
            "path.logs": str(folder / "logs"),
            "xpack.security.enabled": str(secure).lower(),
            "cluster.routing.allocation.disk.threshold_enabled": "false",
            **(settings or {}),
        }
        if nodes == 1:
            lines["discovery.type"] = "single-node"
        else:
            lines["discovery.seed_hosts"] = json.dumps(transports)
            lines["cluster.initial_master_nodes"] = json.dumps(names)
        environment = os.environ | {
            "ES_JAVA_HOME": str(java), "ES_JAVA_OPTS": f"-Xms{heap} -Xmx{heap}", "ES_PATH_CONF": str(config),
        }  # fmt: skip
        if secure:
            server.authority = _certificates(config)
            lines["xpack.security.http.ssl.enabled"] = "true"
            lines["xpack.security.http.ssl.key"] = "server.key"
            lines["xpack.security.http.ssl.certificate"] = "server.crt"
            told = PASSWORD.encode()
            keystore = [str(place / "bin/elasticsearch-keystore"), "add", "--stdin", "bootstrap.password"]
            subprocess.run([*keystore[:1], "create"], env=environment, check=True, capture_output=True)
            subprocess.run(keystore, env=environment, check=True, capture_output=True, input=told)
        text = "".join(f"{key}: {value}\n" for key, value in lines.items() if value)
        (config / "elasticsearch.yml").write_text(text)
        command = [str(place / "bin/elasticsearch"), "-p", str(folder / "pid")]
        if os.getuid() == 0:
            subprocess.run(["chown", "-R", _USER, str(folder)], check=True)
            command = ["setpriv", f"--reuid={_USER}", f"--regid={_USER}", "--clear-groups", *command]
            environment["HOME"] = str(folder)
        server.nodes.append(Node(folder, ports[number], command, environment))
    try:
        for node in server.nodes:
            node.spawn()
        server.wait()
    except BaseException:
        server.stop()
        raise
    return server


def _certificates(config: Path) -> Path:
    """A certificate authority of our own, and a certificate for 127.0.0.1 signed by it."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=config, check=True, capture_output=True)

    (config / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.crt", "-days", "2",
            "-subj", "/CN=test authority", "-addext", "basicConstraints=critical,CA:TRUE",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign")  # fmt: skip
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=127.0.0.1")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-out", "server.crt",
            "-days", "2", "-extfile", "names")  # fmt: skip
    return config / "ca.crt"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=["prepare", "start", "stop"])
    parser.add_argument("--version", default=VERSION)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--secure", action="store_true", help=f"TLS and passwords (user elastic, password {PASSWORD})")
    arguments = parser.parse_args()
    running = home() / "running.json"
    try:
        if arguments.do == "prepare":
            print(prepare(arguments.version))
        elif arguments.do == "start":
            if running.exists():
                parser.exit(2, f"a server is running already: {json.loads(running.read_text())['url']}. Stop it first.\n")
            server = start(arguments.version, nodes=arguments.nodes, secure=arguments.secure)
            for node in server.nodes:
                if node.launcher is not None:
                    node.launcher.returncode = 0  # it goes on without us
            folders = [str(node.folder) for node in server.nodes]
            running.write_text(json.dumps({"url": server.url, "folders": folders}))
            print(server.url)
            if server.authority:
                print(
                    f"export KGAUDIT_ES_USER=elastic KGAUDIT_ES_PASSWORD={PASSWORD} KGAUDIT_ES_CA={server.authority}", file=sys.stderr
                )
        elif running.exists():
            for folder in json.loads(running.read_text())["folders"]:
                Node(Path(folder), 0, [], {}).kill(signal.SIGTERM)
                shutil.rmtree(folder, ignore_errors=True)
            running.unlink()
    except Unavailable as error:
        parser.exit(2, f"{error}\n")


if __name__ == "__main__":
    main()
