"""Holds the running program to its description: `run.py PROGRAM`, in an environment with requirements.txt.

Starts the program with a model and a registry that always say the same, signs people in, and lets schemathesis call what the
description names, as a person, as nobody and as the administrator. The official OpenAI client asks, too. The last line is "N passed, N failed".
"""

import http.server
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import xml.etree.ElementTree

import client

HERE = pathlib.Path(__file__).parent
SERVICE_ROLE_KEY = "the service role key of this test"
CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "ignored_auth",
]
# A stream without end.
ENDLESS = "/api/events"
# What ends the sign-in that it is called with, or could.
ENDING = "/auth/v1/logout|/auth/v1/factors/.*|/api/account/delete|/api/account/devices/.*"
ADMIN = "/auth/v1/admin/.*"


def call(index, zone):
    function = {"name": "clock", "arguments": json.dumps({"zone": zone})}
    return {"tool_calls": [{"index": index, "id": f"call_{zone}", "type": "function", "function": function}]}


REGISTRY_ENTRY = {
    "server": {
        "name": "com.example/weather",
        "description": "Forecasts",
        "version": "1.0.0",
        "remotes": [{"type": "streamable-http", "url": "https://example.com/mcp", "headers": [{"name": "X-Key"}]}],
    },
    "_meta": {"io.modelcontextprotocol.registry/official": {"status": "active", "isLatest": True}},
}


class Peers(http.server.BaseHTTPRequestHandler):
    """A model server that answers every question with one word, but first asks what the time is where it can; and an
    MCP registry with one server."""

    def do_GET(self):
        is_registry = self.path.startswith("/v0.1/servers")
        page = {"servers": [REGISTRY_ENTRY]} if is_registry else {"data": [{"id": "scripted"}]}
        self.answer("application/json", json.dumps(page))

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        offered = [tool["function"]["name"] for tool in request.get("tools", [])]
        if offered == ["clock"] and request["messages"][-1]["role"] == "user":
            deltas, reason = [call(0, "UTC"), call(1, "CET")], "tool_calls"
        else:
            deltas, reason = [{"content": "Hello."}], "stop"
        said = [{"delta": delta} for delta in deltas] + [{"delta": {}, "finish_reason": reason}]
        chunks = [json.dumps({"id": "1", "model": "scripted", "choices": [{"index": 0, **one}]}) for one in said]
        self.answer("text/event-stream", "".join(f"data: {chunk}\n\n" for chunk in [*chunks, "[DONE]"]))

    def answer(self, kind, text):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


class App:
    """The program on a free port, with data of its own."""

    def __init__(self, program, folder, peers):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        settings = {
            "CHAT_LISTEN": f"127.0.0.1:{port}",
            "CHAT_DATA_DIR": folder,
            "CHAT_LOCAL_MODEL": "off",
            "CHAT_MCP_REGISTRY": peers,
            "CHAT_RATE_LIMITS": "off",
            "CHAT_SERVICE_ROLE_KEY": SERVICE_ROLE_KEY,
            "OPENAI_BASE_URL": f"{peers}/v1",
            "GOOGLE_CLIENT_ID": "client",
            "GOOGLE_CLIENT_SECRET": "secret",
            "RUST_LOG": "warn",
        }
        self.process = subprocess.Popen([program], env={"PATH": os.environ["PATH"], **settings})
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{self.url}/health/ready", timeout=5).close()
                return
            except OSError:
                time.sleep(0.1)
        raise SystemExit("the program did not become ready")

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=30) as answer:
            return json.load(answer)

    def post(self, path, body, token=None):
        headers = {"content-type": "application/json", "prefer": "return=representation"}
        if token:
            headers["authorization"] = f"Bearer {token}"
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def is_signed_in(self, token):
        request = urllib.request.Request(f"{self.url}/auth/v1/user", headers={"authorization": f"Bearer {token}"})
        try:
            urllib.request.urlopen(request, timeout=30).close()
            return True
        except OSError:
            return False

    def person(self, name):
        """Signs somebody up who has a chat and a connection; returns their token and the ids of both."""
        account = {"email": f"{name}@example.com", "password": "correct horse"}
        token = self.post("/auth/v1/signup", account)["access_token"]
        chat = self.post("/rest/v1/ai_chat_sessions", {"title": "New Chat"}, token)[0]["id"]
        server = {"name": "toolbox", "url": f"{self.url}/mcp/toolbox"}
        connection = self.post("/rest/v1/mcp_servers", server, token)[0]["id"]
        return token, chat, connection


def check(app, folder, name, token, seconds, options, ids=("", "")):
    """One run of schemathesis; returns how many calls of the description passed and failed."""
    report = pathlib.Path(folder, f"{name}.xml")
    command = [pathlib.Path(sys.executable).with_name("st"), "--no-color", "run", f"{app.url}/api/openapi.json"]
    command += ["--checks", ",".join(CHECKS), "--phases", "examples,coverage,fuzzing", "--max-examples", "10"]
    command += ["--max-time", str(seconds), "--request-timeout", "30", "--seed", "1", "--continue-on-failure"]
    command += ["--generation-database", "none", "--warnings", "off"]
    command += ["--suppress-health-check", "all", "--report", "junit", "--report-junit-path", report, *options]
    if token:
        command += ["--header", f"Authorization: Bearer {token}"]
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(HERE)}
    environment |= {"CHAT": ids[0], "CONNECTION": ids[1]}
    print(f"\n== {name}", flush=True)
    subprocess.run(command, env=environment, cwd=folder)
    cases = list(xml.etree.ElementTree.parse(report).getroot().iter("testcase"))
    failed = sum(1 for case in cases if case.find("failure") is not None or case.find("error") is not None)
    return len(cases) - failed, failed


def main(program):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Peers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        # Nobody is to stay nobody.
        pathlib.Path(folder, "schemathesis.toml").write_text("[auth]\nauto-signup = false\n")
        app = App(program, os.path.join(folder, "data"), f"http://127.0.0.1:{server.server_port}")
        try:
            token, *ids = app.person("person")
            leaving, *_ = app.person("leaving")
            lasting = ["--exclude-path-regex", f"^({ENDLESS}|{ENDING}|{ADMIN})$"]
            secret = app.post("/api/keys", {"name": "client", "scopes": ["chat", "tools"]}, token)["secret"]
            runs = [
                client.check(app.url, secret),
                check(app, folder, "person", token, 60, lasting, ids),
                # What was checked was not the refusal of a sign-in that had ended.
                (1, 0) if app.is_signed_in(token) else (0, 1),
                check(app, folder, "nobody", None, 30, ["--exclude-path-regex", f"^{ENDLESS}$"]),
                check(app, folder, "leaving", leaving, 10, ["--include-path-regex", f"^({ENDING})$"]),
            ]
            if any(path.startswith("/auth/v1/admin/") for path in app.get("/api/openapi.json")["paths"]):
                # Last, because it may delete everybody.
                options = ["--include-path-regex", f"^{ADMIN}$"]
                runs.append(check(app, folder, "administrator", SERVICE_ROLE_KEY, 20, options))
            is_alive = app.process.poll() is None
        finally:
            app.process.terminate()
            is_clean = app.process.wait(20) == 0
    passed, failed = (sum(counts) for counts in zip(*runs))
    failed += (not is_alive) + (not is_clean)
    print(f"{passed} passed, {failed} failed")
    return failed == 0


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1]) else 1)
