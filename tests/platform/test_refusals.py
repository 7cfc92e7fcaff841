# SPDX-License-Identifier: Apache-2.0
"""What the platform must not accept, and with which words it refuses."""

from __future__ import annotations

import base64
import contextlib
import datetime
import functools
import json
import socket
import ssl
import stat
import time
import unittest
import zlib
from unittest import mock

from botocore.exceptions import ClientError

from cloud import ROLE, Cloud, archive, code


@contextlib.contextmanager
def botocore_clock(now: datetime.datetime):
    """Requests are signed at `now`; how botocore asks for the time depends on its version."""
    class fixed(datetime.datetime):
        @classmethod
        def utcnow(cls):
            return now.replace(tzinfo=None)

    with mock.patch("botocore.auth.get_current_datetime", return_value=now, create=True), \
            mock.patch("botocore.compat.get_current_datetime", return_value=now, create=True), \
            mock.patch("botocore.auth.datetime", mock.Mock(wraps=datetime, datetime=fixed), create=True):
        yield


class Refusals(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.cloud = Cloud()
        cls.cloud.create("f")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.cloud.close()

    def tearDown(self) -> None:
        self.assertEqual(self.cloud.invoke("f", "x")["StatusCode"], 200)  # still at work

    def refused(self, status: int, kind: str, call, **arguments) -> str:
        with self.assertRaises(ClientError) as caught:
            call(**arguments)
        answer = caught.exception.response
        self.assertEqual((answer["ResponseMetadata"]["HTTPStatusCode"], answer["Error"]["Code"]), (status, kind), answer)
        self.assertRegex(answer["ResponseMetadata"]["RequestId"], "^[0-9a-f-]{36}$")
        return answer["Error"]["Message"]

    def raw(self, *pieces: bytes, pause: float = 0, limit: float = 30, tls: bool = False) -> bytes:
        """Sends pieces and returns whatever comes until the server closes."""
        peer = socket.create_connection(("127.0.0.1", self.cloud.tls_port if tls else self.cloud.port), timeout=limit)
        if tls:
            peer = ssl.create_default_context(cafile=self.cloud.state / "tls" / "ca.pem").wrap_socket(peer, server_hostname="localhost")
        answer = b""
        with peer:
            try:
                for piece in pieces:
                    peer.sendall(piece)
                    time.sleep(pause)
                while chunk := peer.recv(65536):
                    answer += chunk
            except (ConnectionResetError, BrokenPipeError):
                pass
        return answer

    # Signatures

    def test_a_wrong_secret_is_an_invalid_signature(self) -> None:
        client = self.cloud.client(keys=(self.cloud.keys()[0], "wrong"))
        message = self.refused(403, "InvalidSignatureException", client.list_functions)
        self.assertIn("does not match the signature you provided", message)

    def test_an_unknown_key_is_an_unrecognized_client(self) -> None:
        client = self.cloud.client(keys=("AKIAUNKNOWN", "wrong"))
        self.refused(403, "UnrecognizedClientException", client.list_functions)

    def test_another_region_is_refused(self) -> None:
        client = self.cloud.client(region="eu-west-1")
        self.assertIn("valid region", self.refused(403, "InvalidSignatureException", client.list_functions))

    def test_another_service_is_refused(self) -> None:
        client = self.cloud.client("dynamodb")
        with self.assertRaises(ClientError) as caught:
            client.list_tables()
        self.assertEqual(caught.exception.response["ResponseMetadata"]["HTTPStatusCode"], 403)

    def test_a_clock_that_is_wrong_by_six_minutes_is_refused(self) -> None:
        for minutes, words in ((-6, "Signature expired"), (6, "Signature not yet current")):
            other = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=minutes)
            with botocore_clock(other):
                client = self.cloud.client()
                self.assertIn(words, self.refused(403, "InvalidSignatureException", client.list_functions))

    def test_a_body_changed_on_the_way_is_refused(self) -> None:
        client = self.cloud.client()
        client.meta.events.register("before-send", lambda request, **_: setattr(request, "body", b'"other"'))
        self.refused(403, "InvalidSignatureException", client.invoke, FunctionName="f", Payload=b'"first"')

    def test_no_signature_at_all_is_refused(self) -> None:
        answer = self.raw(b"GET /2015-03-31/functions/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        self.assertIn(b"403 Forbidden", answer)
        self.assertIn(b"MissingAuthenticationTokenException", answer)

    def test_malformed_authorization_is_incomplete(self) -> None:
        for header in (b"Basic eDp5", b"AWS4-HMAC-SHA256", b"AWS4-HMAC-SHA256 Credential=a/b, Signature=x", b"AWS4-HMAC-SHA256 ,,,==,"):
            answer = self.raw(b"GET /2015-03-31/functions/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: " + header + b"\r\n\r\n")
            self.assertIn(b"403 Forbidden", answer, header)
            self.assertIn(b"IncompleteSignatureException", answer, header)

    def test_a_functions_own_key_may_only_invoke(self) -> None:
        found = dict(line.split("=", 1) for line in self.cloud.run("f", "environment").splitlines())
        keys = (found["AWS_ACCESS_KEY_ID"], found["AWS_SECRET_ACCESS_KEY"], found["AWS_SESSION_TOKEN"])
        client = self.cloud.client(keys=keys)
        self.assertEqual(client.invoke(FunctionName="f", Payload=b'"me"')["Payload"].read(), b'"me"')
        self.refused(403, "AccessDeniedException", client.list_functions)
        self.refused(403, "AccessDeniedException", client.delete_function, FunctionName="f")
        self.refused(403, "UnrecognizedClientException", self.cloud.client(keys=(*keys[:2], "other")).list_functions)

    # Requests

    def test_an_unknown_function_is_not_found(self) -> None:
        client = self.cloud.client()
        for call in (client.invoke, client.get_function, client.delete_function, client.publish_version):
            self.refused(404, "ResourceNotFoundException", call, FunctionName="none")
        self.refused(404, "ResourceNotFoundException", client.invoke, FunctionName="f", Qualifier="7")

    def test_a_payload_above_6_mb_is_too_large(self) -> None:
        client = self.cloud.client()
        payload = b'"' + b"x" * 6_291_555 + b'"'
        message = self.refused(413, "RequestTooLargeException", client.invoke, FunctionName="f", Payload=payload)
        self.assertIn("6291556", message)
        self.assertEqual(client.invoke(FunctionName="f", Payload=payload[1:-1].join((b'"', b'"'))[:6_291_555] + b'"')["StatusCode"], 200)

    def test_an_answer_above_6_mb_is_an_error_of_the_function(self) -> None:
        answer = self.cloud.invoke("f", "size", "6300000")
        self.assertEqual(answer["Payload"]["errorType"], "Function.ResponseSizeTooLarge")

    def test_a_payload_that_is_no_json_is_refused(self) -> None:
        client = self.cloud.client()
        for payload in (b"{", b"hello", b'"\xff"', b'"a" "b"', b"\x00"):
            self.refused(400, "InvalidRequestContentException", client.invoke, FunctionName="f", Payload=payload)

    def test_a_body_that_is_no_object_is_refused(self) -> None:
        client = self.cloud.client()
        for body in (b"[]", b"{", b"3", b'"x"', b"[" * 100_000):
            changing = self.cloud.client()
            changing.meta.events.register("before-call", lambda params, body=body, **_: params.update(body=body))
            self.refused(400, "InvalidRequestContentException", changing.update_function_configuration, FunctionName="f", Timeout=3)

    def test_settings_out_of_range_are_refused(self) -> None:
        client = self.cloud.client(parameter_validation=False)
        for kind, settings in {
            "ValidationException": ({"MemorySize": 127}, {"MemorySize": 10241}, {"Timeout": 0}, {"Timeout": 901}, {"Role": "nobody"},
                                    {"Handler": "a b"}, {"EphemeralStorage": {"Size": 100}}, {"Description": "x" * 257}),
            "InvalidParameterValueException": ({"Runtime": "python3.12"}, {"Environment": {"Variables": {"AWS_REGION": "x1"}}},
                                               {"Environment": {"Variables": {"BIG": "x" * 5000}}},
                                               {"Layers": ["arn:aws:lambda:us-east-1:000000000000:layer:a:1"]}),
        }.items():
            for setting in settings:
                with self.subTest(setting):
                    self.refused(400, kind, client.update_function_configuration, FunctionName="f", **setting)

    def test_names_that_are_none_are_refused(self) -> None:
        client = self.cloud.client()
        for name in ("a/b", "a b", "arn:aws:lambda:us-east-1:000000000000:layer:x", "a%00b", "f:a.b", "function:" + "x" * 162):
            with self.subTest(name):
                message = self.refused(400, "ValidationException", client.get_function, FunctionName=name)
                self.assertRegex(message, "^1 validation error detected: Value '.*' at 'functionName' failed to satisfy constraint: Member must ")
        self.refused(404, "ResourceNotFoundException", client.get_function, FunctionName="x" * 65)

    def test_a_new_functions_bare_name_is_refused_as_a_parameter(self) -> None:
        create = functools.partial(self.cloud.client().create_function, Runtime="provided.al2023", Role=ROLE, Handler="h", Code={"ZipFile": code()})
        for name, why in (("a/b", "regular expression pattern"), ("x" * 65, "less than or equal to 64")):
            self.assertIn(why, self.refused(400, "InvalidParameterValueException", create, FunctionName=name))
        self.assertIn("less than or equal to 140",
                      self.refused(400, "ValidationException", create, FunctionName="000000000000:function:" + "x" * 119))

    def test_what_does_not_fit_the_services_model_is_a_validation_error(self) -> None:
        client = self.cloud.client(parameter_validation=False)
        for member, call, arguments in (
            ("functionName", client.create_function, {"Role": ROLE}), ("role", client.create_function, {"FunctionName": "g"}),
            ("qualifier", client.get_function, {"FunctionName": "f", "Qualifier": "a.b"}),
            ("qualifier", client.invoke, {"FunctionName": "f", "Qualifier": "x" * 129}),
            ("invocationType", client.invoke, {"FunctionName": "f", "InvocationType": "Later"}),
            ("invocationType", client.invoke, {"FunctionName": "none", "InvocationType": "Later"}),
            ("logType", client.invoke, {"FunctionName": "f", "LogType": "Head"}),
            ("maxItems", client.list_functions, {"MaxItems": 0}), ("maxItems", client.list_functions, {"MaxItems": 10_001}),
            ("name", client.create_alias, {"FunctionName": "f", "Name": "1", "FunctionVersion": "$LATEST"}),
            ("name", client.create_alias, {"FunctionName": "f", "Name": "x" * 129, "FunctionVersion": "$LATEST"}),
            ("name", client.create_alias, {"FunctionName": "f", "FunctionVersion": "$LATEST"}),
            ("functionVersion", client.create_alias, {"FunctionName": "f", "Name": "live"}),
            ("tags", client.tag_resource, {"Resource": "arn:aws:lambda:us-east-1:000000000000:function:f"}),
            ("architectures", client.update_function_code, {"FunctionName": "f", "ZipFile": code(), "Architectures": ["sparc"]}),
        ):
            with self.subTest(member, arguments=str(arguments)[:100]):
                message = self.refused(400, "ValidationException", call, **arguments)
                self.assertRegex(message, f"^1 validation error detected: Value .+ at '{member}' failed to satisfy constraint: Member must ")

    def test_a_validation_error_has_no_body_but_its_message(self) -> None:
        answers = []
        client = self.cloud.client()
        client.meta.events.register("after-call", lambda http_response, **_: answers.append(json.loads(http_response.content)))
        self.refused(400, "ValidationException", client.invoke, FunctionName="f", InvocationType="Later")
        self.assertEqual(list(answers[0]), ["message"])

    def test_what_the_service_itself_refuses_is_a_parameter(self) -> None:
        client = self.cloud.client()
        self.refused(400, "InvalidParameterValueException", client.get_function, FunctionName="f:1", Qualifier="2")
        self.refused(400, "InvalidParameterValueException", client.delete_function, FunctionName="f", Qualifier="$LATEST")

    # Code

    def create(self, zip_: bytes) -> None:
        self.cloud.client().create_function(FunctionName="bad", Runtime="provided.al2023", Role=ROLE, Handler="h", Code={"ZipFile": zip_})

    def test_archives_that_are_dangerous_are_refused(self) -> None:
        link = stat.S_IFLNK | 0o777
        for what, zip_ in {
            "leaves": archive({"../evil": b"x"}),
            "leaves below": archive({"a/../../evil": b"x"}),
            "absolute": archive({"/etc/evil": b"x"}),
            "link": archive({"bootstrap": b"/etc/passwd"}, {"bootstrap": link}),
            "link first": archive({"a": b"/", "a/b": b"x"}, {"a": link}),
            "device": archive({"null": b""}, {"null": stat.S_IFCHR | 0o666}),
            "twice": archive({"a": b"x", "a/": b""}),
            "below a file": archive({"a": b"x", "a/b": b"x"}),
            "no archive": b"hello",
            "nothing": archive({}),
            "cut": code()[:-100],
            "damaged": code().replace(code()[2000:2100], b"\0" * 100),
        }.items():
            with self.subTest(what):
                message = self.refused(400, "InvalidParameterValueException", self.create, zip_=zip_)
                self.assertIn("Could not unzip", message)
        self.refused(404, "ResourceNotFoundException", self.cloud.client().get_function, FunctionName="bad")

    def test_what_unpacks_to_more_than_250_mb_is_refused(self) -> None:
        zip_ = archive({f"{n}": b"\0" * (90 << 20) for n in range(3)})
        self.assertIn("262144000", self.refused(400, "InvalidParameterValueException", self.create, zip_=zip_))

    def test_an_archive_that_lies_about_its_size_is_refused(self) -> None:
        honest = archive({"bootstrap": b"\0" * 1_000_000})
        lying = honest.replace((1_000_000).to_bytes(4, "little"), (1_000).to_bytes(4, "little"))
        self.assertNotEqual(honest, lying)
        self.refused(400, "InvalidParameterValueException", self.create, zip_=lying)

    def test_an_archive_above_50_mb_is_too_large(self) -> None:
        import random
        zip_ = archive({"bootstrap": random.Random(1).randbytes(51 << 20)})
        self.refused(413, "RequestEntityTooLargeException", self.create, zip_=zip_)

    # Connections

    def test_what_is_no_http_is_refused(self) -> None:
        for text in (b"hello\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /\x01 HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01" + b"\0" * 40,
                     b"GET / HTTP/1.1\r\nHost : x\r\n\r\n", b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                     b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzzzz\r\n"):
            self.assertIn(b"400 Bad Request", self.raw(text), text)

    def test_a_length_given_twice_is_refused(self) -> None:
        for text in (b"POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
                     b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"):
            self.assertIn(b"400 Bad Request", self.raw(text), text)

    def test_a_head_without_end_is_refused(self) -> None:
        self.assertIn(b" 431 ", self.raw(b"GET / HTTP/1.1\r\n" + b"X-Filler: " + b"y" * 200_000 + b"\r\n\r\n"))
        self.assertIn(b" 431 ", self.raw(b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 300 + b"\r\n"))

    def test_a_client_that_sends_a_byte_now_and_then_is_left(self) -> None:
        began = time.monotonic()
        self.raw(*[bytes([byte]) for byte in b"GET / HTTP/1.1\r\nX: " + b"y" * 60], pause=0.5, limit=60)
        self.assertLess(time.monotonic() - began, 30)

    def test_half_an_http2_preface_is_left_too(self) -> None:
        began = time.monotonic()
        self.raw(b"PRI * HTTP/2.0\r\n", limit=60)
        self.assertLess(time.monotonic() - began, 30)

    def test_http2_that_is_none_is_ended(self) -> None:
        preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        for frames in (b"\xff" * 100, b"\x00\x00\x04\x01\x04\x00\x00\x00\x01\xff\xff\xff\xff", b"\x00\xff\xff\x00\x00\x00\x00\x00\x01" + b"x" * 65535):
            self.raw(preface + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00" + frames, limit=20)

    def test_many_idle_connections_do_not_keep_others_out(self) -> None:
        idle = [socket.create_connection(("127.0.0.1", self.cloud.port)) for _ in range(500)]
        self.assertEqual(self.cloud.invoke("f", "x")["StatusCode"], 200)
        for each in idle:
            each.close()

    def test_old_tls_is_refused(self) -> None:
        context = ssl.create_default_context(cafile=self.cloud.state / "tls" / "ca.pem")
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
        with self.assertRaises((ssl.SSLError, ConnectionResetError)), socket.create_connection(("127.0.0.1", self.cloud.tls_port)) as plain:
            context.wrap_socket(plain, server_hostname="localhost")

    def test_files_with_secrets_are_the_owners_only(self) -> None:
        for name in ("credentials", "tls/server.key", "account/state.json"):
            self.assertEqual((self.cloud.state / name).stat().st_mode & 0o077, 0, name)
        self.assertEqual(self.cloud.state.stat().st_mode & 0o077, 0)


if __name__ == "__main__":
    unittest.main()
