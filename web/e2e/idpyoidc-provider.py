"""Serves an OpenID Connect provider of the library idpyoidc on which every name signs in, until its input ends.

Usage: idpyoidc-provider.py ALGORITHM CLIENT_ID CLIENT_SECRET

The algorithm signs the ID tokens. The program prints its issuer, and then reads the URL of the app from its input.
"""

import sys
import threading
from html import escape
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlencode, urlsplit

from cryptojwt.exception import JWKESTException
from idpyoidc.exception import OidcMsgError
from idpyoidc.message.oauth2 import ResponseMessage
from idpyoidc.server import Server
from idpyoidc.server.exception import OidcEndpointError
from idpyoidc.server.oidc.authorization import Authorization
from idpyoidc.server.oidc.provider_config import ProviderConfiguration
from idpyoidc.server.oidc.session import Session
from idpyoidc.server.oidc.token import Token
from idpyoidc.server.oidc.userinfo import UserInfo as UserInfoEndpoint
from idpyoidc.server.user_authn.user import UserAuthnMethod
from idpyoidc.server.user_info import UserInfo

SIGN_IN_PAGE = """<title>Sign in</title><h1>Sign in</h1><form method="post" action="/verify">
<input type="hidden" name="request" value="{request}"><label>Name <input name="name" autofocus></label>
<button name="action" value="sign-in">Sign in</button><button name="action" value="decline">Decline</button></form>"""

SIGN_OUT_PAGE = """<title>Sign out</title><h1>Sign out?</h1><form method="post" action="/sign-out">
<input type="hidden" name="token" value="{token}"><button>Sign out</button></form>"""


class AnyName(UserAuthnMethod):
    """Page that asks for a name only."""

    def __call__(self, query, **_arguments):
        return SIGN_IN_PAGE.format(request=escape(query))


class ExampleUsers(UserInfo):
    """User information of every name."""

    def __call__(self, user_id, client_id, user_info_claims=None, **_arguments):
        claims = {"email": f"{user_id}@example.com", "email_verified": True, "name": f"{user_id} Example"}
        return self.filter(claims, user_info_claims)


class SignOut(Session):
    """Sign-out that an ID token authenticates. The library's own asks for an access token if the client is named."""

    def client_authentication(self, request, http_info=None, **arguments):
        return {}


def create_provider(issuer, app_url, algorithm, client_id, client_secret):
    """Returns the provider, which knows one app."""

    def endpoint(path, of, **arguments):
        return {"path": path, "class": of, "kwargs": arguments}

    provider = Server(
        {
            "issuer": issuer,
            "key_conf": {
                "key_defs": [
                    {"type": "RSA", "use": ["sig"]},
                    {"type": "EC", "crv": "P-256", "use": ["sig"]},
                ],
                "uri_path": "keys",
            },
            "preference": {
                "id_token_signing_alg_values_supported": ["RS256", "ES256"],
                "token_endpoint_auth_methods_supported": ["client_secret_post"],
            },
            "endpoint": {
                "provider_config": endpoint(".well-known/openid-configuration", ProviderConfiguration),
                "authorization": endpoint("authorization", Authorization),
                "token": endpoint("token", Token, client_authn_method=["client_secret_post"]),
                "userinfo": endpoint("userinfo", UserInfoEndpoint, client_authn_method=["bearer_header"]),
                "session": endpoint("session", SignOut, signing_alg=algorithm, logout_verify_url="/sign-out"),
            },
            "add_on": {
                "pkce": {
                    "function": "idpyoidc.server.oauth2.add_on.pkce.add_support",
                    "kwargs": {"essential": True, "code_challenge_methods": {"S256": None}},
                }
            },
            "token_handler_args": {
                "code": {"kwargs": {"lifetime": 60}},
                "token": {"class": "idpyoidc.server.token.jwt_token.JWTToken", "kwargs": {"lifetime": 60}},
                "id_token": {"class": "idpyoidc.server.token.id_token.IDToken", "kwargs": {}},
            },
            "authentication": {"name": {"acr": "name", "class": AnyName, "kwargs": {}}},
            "userinfo": {"class": ExampleUsers, "kwargs": {}},
            "cookie_handler": {
                "class": "idpyoidc.server.cookie_handler.CookieHandler",
                "kwargs": {"keys": {"key_defs": [{"type": "OCT", "use": ["enc"]}, {"type": "OCT", "use": ["sig"]}]}},
            },
        }
    )
    provider.context.cdb[client_id] = {
        "client_id": client_id,
        "client_secret": client_secret,
        "redirect_uris": [(f"{app_url}/auth/v1/callback", {})],
        "post_logout_redirect_uri": [(f"{app_url}/auth", {})],
        "backchannel_logout_uri": f"{app_url}/auth/v1/oidc/backchannel-logout",
        "response_types_supported": ["code"],
        "allowed_scopes": ["openid", "email", "profile"],
        "id_token_signed_response_alg": algorithm,
    }
    return provider


class Handler(BaseHTTPRequestHandler):
    """Translates between HTTP and the endpoints of the library."""

    provider = None
    lock = threading.Lock()

    def do_GET(self):
        url = urlsplit(self.path)
        self.answer(url.path.removeprefix("/"), dict(parse_qsl(url.query)))

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer(urlsplit(self.path).path.removeprefix("/"), dict(parse_qsl(body.decode())))

    def answer(self, path, fields):
        # The library is not made for threads. Browsers open connections in advance, which would block a single one.
        with self.lock:
            try:
                self.route(path, fields)
            except (OidcEndpointError, OidcMsgError, JWKESTException, ValueError, KeyError) as error:
                print(f"idpyoidc: {error!r}", file=sys.stderr)
                self.send(400, f"<h1>{escape(repr(error))}</h1>")

    def route(self, path, fields):
        endpoints = {endpoint.endpoint_path: endpoint for endpoint in self.provider.endpoint.values()}
        if path == "keys":
            self.send(200, self.provider.keyjar.export_jwks_as_json(), "application/json")
        elif path == "verify":
            self.verify(fields)
        elif path == "sign-out":
            self.sign_out(fields)
        elif path in endpoints:
            self.call(endpoints[path], fields)
        else:
            self.send(404, "<h1>Not found</h1>")

    def call(self, endpoint, fields):
        cookies = SimpleCookie(self.headers.get("Cookie", ""))
        http_info = {
            "headers": {name.lower(): value for name, value in self.headers.items()},
            "cookie": [{"name": name, "value": morsel.value} for name, morsel in cookies.items()],
        }
        request = endpoint.parse_request(fields, http_info=http_info)
        if isinstance(request, ResponseMessage) and "error" in request:
            self.send(400, request.to_json(), "application/json")
            return
        self.respond(endpoint, request, endpoint.process_request(request, http_info=http_info))

    def respond(self, endpoint, request, outcome):
        """Sends the outcome of an endpoint."""
        if "http_response" in outcome:
            self.send(200, outcome["http_response"])
        elif "redirect_location" in outcome:
            self.redirect(outcome["redirect_location"])
        else:
            response = endpoint.do_response(request=request, **outcome)
            if endpoint.response_placement == "url":
                self.redirect(response["response"], response.get("cookie", []))
            else:
                is_error = "error" in outcome
                self.send(400 if is_error else 200, response["response"], "application/json")

    def verify(self, fields):
        """Completes the authorization request after the sign-in page."""
        endpoint = self.provider.endpoint["authorization"]
        request = endpoint.parse_request(dict(parse_qsl(fields["request"])))
        if fields["action"] == "decline":
            error = {"error": "access_denied", "state": request["state"], "iss": self.provider.issuer}
            self.redirect(f"{request['redirect_uri']}?{urlencode(error)}")
            return
        method = endpoint.pick_authn_method(request, request["redirect_uri"])
        session = endpoint.create_session(
            request, fields["name"], method["acr"], time_stamp=0, authn_method=method["method"]
        )
        self.respond(endpoint, request, endpoint.authz_part2(request, session))

    def sign_out(self, fields):
        """Asks whether the user wants to sign out, and does it."""
        endpoint = self.provider.endpoint["session"]
        if "sjwt" in fields:
            self.send(200, SIGN_OUT_PAGE.format(token=escape(fields["sjwt"])))
            return
        token = endpoint.unpack_signed_jwt(fields["token"])
        endpoint.do_verified_logout(token["sid"])
        self.redirect(token["redirect_uri"], endpoint.kill_cookies())

    def redirect(self, url, cookies=()):
        self.send_response(303)
        self.send_header("Location", url)
        for cookie in cookies:
            parts = [f"{cookie['name']}={cookie['value']}", "Path=/", "HttpOnly", "SameSite=Lax"]
            if "expires" in cookie:
                parts.append("Max-Age=0")
            self.send_header("Set-Cookie", "; ".join(parts))
        self.end_headers()

    def send(self, status, text, media_type="text/html"):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{media_type}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments):
        pass


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    issuer = f"http://127.0.0.1:{server.server_port}"
    print(issuer, flush=True)
    app_url = sys.stdin.readline().strip()
    Handler.provider = create_provider(issuer, app_url, *sys.argv[1:])
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


main()
