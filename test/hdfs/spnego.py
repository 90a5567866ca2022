"""A name node's door that asks for Kerberos: SPNEGO by GSSAPI gives a token, and only who brings that token is let in."""
import base64
import json
import secrets
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

import gssapi

TOKENS = {}  # token -> who
STATUS = {"pathSuffix": "part-0", "type": "FILE", "length": 5}


class Door(BaseHTTPRequestHandler):
    def log_message(self, *_words):
        pass

    def do_GET(self):
        query = {key: values[0] for key, values in parse_qs(urlparse(self.path).query).items()}
        if query.get("op") == "GETDELEGATIONTOKEN":
            return self.give_token()
        if query.get("op") == "FORGET":
            TOKENS.clear()
            return self.answer(200, {})
        if query.get("delegation") not in TOKENS:
            return self.answer(403, {"RemoteException": {"exception": "InvalidToken", "message": "token can't be found in cache"}})
        if query["op"] == "LISTSTATUS":
            return self.answer(200, {"FileStatuses": {"FileStatus": [STATUS]}})
        return self.answer(400, {"RemoteException": {"exception": "UnsupportedOperationException", "message": query["op"]}})

    def give_token(self):
        kind, _, value = self.headers.get("Authorization", "").partition(" ")
        if kind != "Negotiate":
            return self.answer(401, {}, {"WWW-Authenticate": "Negotiate"})
        context = gssapi.SecurityContext(creds=gssapi.Credentials(usage="accept"), usage="accept")
        try:
            context.step(base64.b64decode(value))
        except gssapi.exceptions.GSSError:
            return self.answer(401, {}, {"WWW-Authenticate": "Negotiate"})
        token = secrets.token_hex(8)
        TOKENS[token] = str(context.initiator_name)
        print(f"token for {TOKENS[token]}", flush=True)
        return self.answer(200, {"Token": {"urlString": token}})

    def answer(self, status, value, headers={}):
        body = json.dumps(value).encode()
        self.send_response(status)
        for name, text in {**headers, "Content-Type": "application/json", "Content-Length": str(len(body))}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)


server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
print(f"port {server.server_port}", flush=True)
server.serve_forever()
