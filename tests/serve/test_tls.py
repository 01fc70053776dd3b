"""TLS: HTTPS and the WebSocket with a self-signed certificate, and invalid certificate files."""

import json
import ssl
import subprocess
from pathlib import Path

import pytest
from tests.serve.conftest import refused, serving
from websockets.sync.client import connect

import airshed
from airshed.core.errors import CaseError
from airshed.parallel.communicator import SingleRank
from airshed.runtime.registry import load_case
from airshed.serve.client import ServerError, trusting
from airshed.serve.http.server import Address, Server

OPENSSL = "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-days", "2"


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Address:
    """A certificate of 127.0.0.1, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    here = Address(certificate=folder / "mine.crt", key=folder / "mine.key")
    names = ["-nodes", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-out", str(here.certificate), "-keyout", str(here.key)]
    subprocess.run([*OPENSSL, *names, *files], check=True, capture_output=True, timeout=60)
    return here


def test_requests_and_the_socket_are_encrypted(signed: Address) -> None:
    with serving(load_case(Path("tracer-rotation")), address=signed) as server:
        assert server.url.startswith("https://127.0.0.1:")
        with airshed.connect(server.url, certificate=signed.certificate) as remote:
            assert remote.step(2).step == 2
            with remote.branch() as branch:
                assert branch.state.step == 2
        with pytest.raises(ServerError, match=r"is not trusted .*; pass its file as certificate="):
            airshed.connect(server.url)
        with pytest.raises(ServerError, match="no answer"):
            airshed.connect(server.url.replace("https", "http"))
        where = f"wss://127.0.0.1:{server.port}/api/live"
        with connect(where, ssl=trusting(signed.certificate), origin=f"https://127.0.0.1:{server.port}") as socket:
            socket.send(json.dumps({"token": server.token}))
            assert json.loads(socket.recv(timeout=10))["event"] == "hello"
        with pytest.raises(ssl.SSLCertVerificationError):
            connect(where)


def test_invalid_certificate_files_are_refused(
    signed: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong, missing = tmp_path / "wrong.pem", tmp_path / "missing.pem"
    wrong.write_text("no certificate\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for options, message in (
        (["--certificate", wrong, "--key", signed.key], "no certificate with its private key"),
        (["--certificate", signed.certificate, "--key", wrong], "no certificate with its private key"),
        (["--certificate", signed.certificate], "no certificate with its private key"),
        (["--certificate", missing, "--key", signed.key], "missing.pem"),
        (["--key", signed.key], "give --certificate too"),
    ):
        done = refused("tracer-rotation", *options)
        assert message in done.stderr
        assert done.stdout == ""
    for file in (wrong, missing):
        with pytest.raises(CaseError, match="cannot be trusted"):
            trusting(file)


@pytest.mark.thorough
def test_a_key_with_a_password_causes_no_prompt(signed: Address, tmp_path: Path) -> None:
    locked = tmp_path / "locked.key"
    encrypt = ["openssl", "ec", "-in", str(signed.key), "-aes256", "-passout", "pass:secret", "-out", str(locked)]
    subprocess.run(encrypt, check=True, capture_output=True, timeout=60)
    with pytest.raises(CaseError, match="the key without a password"):
        Server(SingleRank(), Address(certificate=signed.certificate, key=locked))
