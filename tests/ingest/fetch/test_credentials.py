"""A fetch shows who it is, and says so nowhere."""

from __future__ import annotations

import base64
import json
import ssl
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from crisp.errors import ConfigError, FetchError
from crisp.ingest.fetch.options import FetchOptions
from tests.documents import traces
from tests.ingest.fetch.pulling import books, ids, pulled
from tests.ingest.fetch.serving import Answer, Reply, Request, in_turn, serving, store

SHOP = store(traces(20))
TOKEN = "s3cr3t-t0ken"  # noqa: S105  # nobody's


def _if(authorization: str) -> Answer:
    def answer(request: Request) -> Reply:
        given = request.headers.get("Authorization", "")
        if given == authorization:
            return SHOP(request)
        return Reply(401, f"{given} is not welcome".encode())

    return answer


def test_a_token_comes_from_a_file_and_is_read_again_when_it_is_changed(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old\n")

    def answer(request: Request) -> Reply:
        file.write_text(TOKEN)
        return SHOP(request)

    with serving(answer) as server:
        pulled(server.url, tmp_path / "landing", "shop", token_file=str(file), concurrency=1)
    sent = [request.headers["Authorization"] for request in server.requests]
    assert sent == ["Bearer old"] + [f"Bearer {TOKEN}"] * 2


def test_a_token_comes_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAEGER_TOKEN", TOKEN)
    with serving(_if(f"Bearer {TOKEN}")) as server:
        pulled(server.url, tmp_path, "shop", token_env="JAEGER_TOKEN")  # noqa: S106
    assert len(ids(tmp_path)) == 20


def test_user_and_password_of_the_address_are_used(tmp_path: Path) -> None:
    basic = base64.b64encode(b"me:p@ss-word").decode()
    with serving(_if(f"Basic {basic}")) as server:
        url = server.url.replace("//", "//me:p%40ss-word@")
        result = pulled(url, tmp_path, "shop")
        again = pulled(server.url, tmp_path, "shop")
    assert len(ids(tmp_path)) == 20
    assert again.requests == 0, "the same server, whoever asks"
    for said in (json.dumps(asdict(result)).encode(), books(tmp_path)):
        assert b"p%40ss-word" not in said
        assert b"p@ss-word" not in said


def test_headers_are_sent(tmp_path: Path) -> None:
    with serving(SHOP) as server:
        pulled(server.url, tmp_path, "shop", headers={"X-Scope-OrgID": "team-7"})
    assert {request.headers["X-Scope-OrgID"] for request in server.requests} == {"team-7"}


@pytest.mark.parametrize("status", [401, 503])
def test_no_secret_is_in_an_error_even_when_the_server_repeats_it(
    status: int, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text(TOKEN)
    secrets = f"{TOKEN} team-secret p%40ss-word p@ss-word"
    said: list[str] = []
    with (
        serving(lambda _: Reply(status, secrets.encode())) as server,
        pytest.raises(FetchError) as error,
    ):
        pulled(
            server.url.replace("//", "//someone:p%40ss-word@"),
            tmp_path / "landing",
            token_file=str(tmp_path / "token"),
            headers={"X-Key": "team-secret"},
            retry_s=0.3,
            on_trouble=said.append,
        )
    for text in (str(error.value), *said):
        assert "*** *** *** ***" in text
        assert not any(secret in text for secret in [*secrets.split(), "someone"])


def test_no_secret_is_in_the_repr_of_options() -> None:
    options = FetchOptions(jaeger="http://me:password@jaeger/", headers={"X-Key": "team-secret"})
    assert "password" not in repr(options)
    assert "team-secret" not in repr(options)
    assert options.shown == "http://jaeger"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"token_file": "a", "token_env": "B"}, "give token_file or token_env, not both"),
        ({"key_file": "a"}, "key_file needs cert_file"),
        ({"headers": {"X-Key": "caf\u00e9", "X-Other": "a\nb"}}, "X-Key has .*headers.X-Other has"),
        ({"token_file": "missing"}, "missing: No such file"),
        ({"token_file": "empty"}, "empty: there is no token"),
        ({"token_file": "binary"}, "binary: this is no token"),
        ({"token_env": "UNSET_TOKEN"}, r"\$UNSET_TOKEN: there is no token"),
        ({"ca_file": "missing", "cert_file": "gone"}, "missing: no such file; gone: no such file"),
        ({"ca_file": "empty"}, "empty: holds no certificate"),
        ({"cert_file": "binary", "key_file": "empty"}, "binary with empty: no certificate with"),
    ],
)
def test_credentials_that_are_missing_or_broken_are_named(
    options: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").write_text("")
    Path("binary").write_text("caché")
    with pytest.raises(ConfigError, match=said):
        pulled("http://127.0.0.1:9", tmp_path / "landing", **options)


def _openssl(*words: str, cwd: Path) -> None:
    subprocess.run(["openssl", *words], cwd=cwd, check=True, capture_output=True)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority, and a server and a client that it vouches for."""
    folder = tmp_path_factory.mktemp("certificates")
    new = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj")
    _openssl(*new, "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem", cwd=folder)
    ask = ("req", "-newkey", "rsa:2048", "-nodes", "-subj")
    sign = ("x509", "-req", "-days", "2", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    for name in ("server", "client"):
        key, request = f"{name}.key", f"{name}.csr"
        _openssl(*ask, f"/CN={name}", "-keyout", key, "-out", request, cwd=folder)
        out = ("-in", request, "-out", f"{name}.pem", "-extfile", "names")
        _openssl(*sign, *out, cwd=folder)
    secret = ("rsa", "-aes256", "-passout", "pass:hidden", "-in", "client.key")
    _openssl(*secret, "-out", "locked.key", cwd=folder)
    return folder


def _server_side(folder: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    context.load_verify_locations(folder / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def test_both_sides_show_certificates(certificates: Path, tmp_path: Path) -> None:
    with serving(SHOP, _server_side(certificates)) as server:
        pulled(
            server.url,
            tmp_path,
            "shop",
            ca_file=str(certificates / "ca.pem"),
            cert_file=str(certificates / "client.pem"),
            key_file=str(certificates / "client.key"),
        )
    assert len(ids(tmp_path)) == 20


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "TLS: .*certificate verify failed"),
        ({"ca_file": "ca.pem"}, "TLS: .*certificate required"),
    ],
)
def test_a_missing_certificate_is_an_error_at_once(
    given: dict[str, str], said: str, certificates: Path, tmp_path: Path
) -> None:
    paths: dict[str, Any] = {name: str(certificates / file) for name, file in given.items()}
    with (
        serving(SHOP, _server_side(certificates)) as server,
        pytest.raises(FetchError, match=f"(?i){said}"),
    ):
        pulled(server.url, tmp_path, retry_s=60, **paths)


def test_an_encrypted_key_is_an_error_and_no_question(certificates: Path, tmp_path: Path) -> None:
    pair = {"cert_file": "client.pem", "key_file": "locked.key"}
    paths: dict[str, Any] = {name: str(certificates / file) for name, file in pair.items()}
    with pytest.raises(ConfigError, match="the key is encrypted"):
        pulled("https://127.0.0.1:9", tmp_path, **paths)


def test_plain_http_where_https_is_expected_is_an_error_at_once(tmp_path: Path) -> None:
    with (
        serving(in_turn(SHOP)) as server,
        pytest.raises(FetchError, match=r"(?i)wrong.version.number|record layer"),
    ):
        pulled(server.url.replace("http:", "https:"), tmp_path, retry_s=60)
