# SPDX-License-Identifier: Apache-2.0
"""What boto3 can do with functions."""

from __future__ import annotations

import base64
import json
import threading
import time
import unittest
import urllib.request

from cloud import Cloud, archive, code


class Functions(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.cloud = Cloud("--event-retry-ms", "50")
        cls.client = cls.cloud.client()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.cloud.close()

    def make(self, **settings) -> str:
        name = self.id().rsplit(".", 1)[1][-60:]
        self.cloud.create(name, **settings)
        self.addCleanup(lambda: self.client.delete_function(FunctionName=name))
        return name

    def refused(self, kind: str, call, **arguments) -> str:
        with self.assertRaises(getattr(self.client.exceptions, kind)) as caught:
            call(**arguments)
        return caught.exception.response["Error"]["Message"]

    def test_a_function_answers_with_what_it_was_sent(self) -> None:
        answer = self.client.invoke(FunctionName=self.make(), Payload=b'{"a": [1, 2]}')
        self.assertEqual((answer["StatusCode"], answer["Payload"].read()), (200, b'{"a": [1, 2]}'))
        self.assertEqual(answer["ExecutedVersion"], "$LATEST")

    def test_it_works_the_same_over_tls(self) -> None:
        name = self.make()
        answer = self.cloud.client(tls=True).invoke(FunctionName=name, Payload=b'"x"')
        self.assertEqual(answer["Payload"].read(), b'"x"')

    def test_a_megabyte_goes_and_comes(self) -> None:
        name, payload = self.make(), json.dumps("z" * 5_000_000).encode()
        self.assertEqual(self.client.invoke(FunctionName=name, Payload=payload)["Payload"].read(), payload)

    def test_what_was_created_can_be_read_back(self) -> None:
        name = self.make(Description="d", Environment={"Variables": {"A1": "b"}}, Tags={"t": "u"})
        made = self.client.get_function(FunctionName=name)
        about = made["Configuration"]
        self.assertEqual((about["State"], about["MemorySize"], about["Timeout"], about["Environment"]["Variables"]),
                         ("Active", 512, 10, {"A1": "b"}))
        self.assertEqual(about["FunctionArn"], f"arn:aws:lambda:us-east-1:000000000000:function:{name}")
        self.assertEqual(made["Tags"], {"t": "u"})
        self.assertEqual(self.client.get_function_configuration(FunctionName=about["FunctionArn"])["RevisionId"], about["RevisionId"])
        with urllib.request.urlopen(made["Code"]["Location"]) as zip_:
            self.assertEqual(zip_.read(), code())
        self.client.get_waiter("function_active_v2").wait(FunctionName=name)

    def test_creating_it_twice_is_a_conflict(self) -> None:
        name = self.make()
        with self.assertRaises(self.client.exceptions.ResourceConflictException):
            self.cloud.create(name)

    def test_a_deleted_function_is_not_found(self) -> None:
        self.cloud.create("short-lived")
        self.client.delete_function(FunctionName="short-lived")
        message = self.refused("ResourceNotFoundException", self.client.invoke, FunctionName="short-lived")
        self.assertIn("Function not found: arn:aws:lambda:us-east-1:000000000000:function:short-lived", message)

    def test_new_code_is_run_from_the_next_invocation_on(self) -> None:
        name = self.make(Code={"ZipFile": code(note=b"old")})
        self.assertEqual(self.cloud.run(name, "read", "/var/task/note"), "old")
        self.client.update_function_code(FunctionName=name, ZipFile=code(note=b"new"))
        self.assertEqual(self.cloud.run(name, "read", "/var/task/note"), "new")

    def test_new_settings_reach_the_function(self) -> None:
        name = self.make()
        self.cloud.run(name, "count")
        self.client.update_function_configuration(FunctionName=name, MemorySize=256, Environment={"Variables": {"COLOUR": "red"}})
        found = self.cloud.run(name, "environment")
        self.assertIn("COLOUR=red\n", found)
        self.assertIn("AWS_LAMBDA_FUNCTION_MEMORY_SIZE=256\n", found)

    def test_an_environment_is_used_again(self) -> None:
        name = self.make()
        self.assertEqual([self.cloud.run(name, "count") for _ in range(3)], ["1", "2", "3"])

    def test_a_version_stays_what_it_was(self) -> None:
        name = self.make(Code={"ZipFile": code(note=b"one")})
        first = self.client.publish_version(FunctionName=name)["Version"]
        self.assertEqual(self.client.publish_version(FunctionName=name)["Version"], first)
        self.client.update_function_code(FunctionName=name, ZipFile=code(note=b"two"))
        second = self.client.publish_version(FunctionName=name)["Version"]
        self.assertEqual((first, second), ("1", "2"))
        answer = self.cloud.invoke(name, "read", "/var/task/note", Qualifier="1")
        self.assertEqual((answer["Payload"], answer["ExecutedVersion"]), ("one", "1"))
        listed = self.client.list_versions_by_function(FunctionName=name)["Versions"]
        self.assertEqual([each["Version"] for each in listed], ["$LATEST", "1", "2"])

    def test_an_alias_can_be_moved(self) -> None:
        name = self.make(Code={"ZipFile": code(note=b"one")}, Publish=True)
        self.client.update_function_code(FunctionName=name, ZipFile=code(note=b"two"), Publish=True)
        self.client.create_alias(FunctionName=name, Name="live", FunctionVersion="1")
        read = lambda: self.cloud.invoke(name, "read", "/var/task/note", Qualifier="live")["Payload"]
        self.assertEqual(read(), "one")
        self.client.update_alias(FunctionName=name, Name="live", FunctionVersion="2")
        self.assertEqual(read(), "two")
        self.assertEqual([each["Name"] for each in self.client.list_aliases(FunctionName=name)["Aliases"]], ["live"])
        self.refused("ResourceConflictException", self.client.delete_function, FunctionName=name, Qualifier="2")
        self.client.delete_alias(FunctionName=name, Name="live")
        self.refused("ResourceNotFoundException", self.client.invoke, FunctionName=name, Qualifier="live")

    def test_all_functions_are_listed_page_by_page(self) -> None:
        names = [self.cloud.create(f"list-{n}")["FunctionName"] for n in range(5)]
        found = [each["FunctionName"] for page in self.client.get_paginator("list_functions").paginate(PaginationConfig={"PageSize": 2})
                 for each in page["Functions"]]
        self.assertEqual([each for each in found if each.startswith("list-")], names)
        for each in names:
            self.client.delete_function(FunctionName=each)

    def test_tags_can_be_added_and_removed(self) -> None:
        arn = self.client.get_function_configuration(FunctionName=self.make())["FunctionArn"]
        self.client.tag_resource(Resource=arn, Tags={"a": "1", "b": "2"})
        self.client.untag_resource(Resource=arn, TagKeys=["a"])
        self.assertEqual(self.client.list_tags(Resource=arn)["Tags"], {"b": "2"})

    def test_what_a_function_prints_is_in_the_tail_of_its_log(self) -> None:
        answer = self.cloud.invoke(self.make(), "print", "good morning", LogType="Tail")
        lines = base64.b64decode(answer["LogResult"]).decode().splitlines()
        id_ = answer["ResponseMetadata"]["RequestId"]
        self.assertEqual(lines[0], f"START RequestId: {id_} Version: $LATEST")
        self.assertEqual(lines[1], "good morning")
        self.assertEqual(lines[2], f"END RequestId: {id_}")
        self.assertRegex(lines[3], rf"^REPORT RequestId: {id_}\tDuration: [\d.]+ ms\tBilled Duration: \d+ ms\tMemory Size: 512 MB"
                                   r"\tMax Memory Used: \d+ MB\tInit Duration: [\d.]+ ms\t$")

    def test_what_a_function_prints_is_in_its_log_file(self) -> None:
        name = self.make()
        self.cloud.run(name, "print", "kept")
        file, end = self.cloud.state / "logs" / f"{name}.log", time.monotonic() + 10
        while "kept" not in (file.read_text() if file.exists() else "") and time.monotonic() < end:
            time.sleep(0.02)
        self.assertIn("kept\nEND RequestId: ", file.read_text())

    def test_an_error_of_the_function_is_passed_on(self) -> None:
        answer = self.cloud.invoke(self.make(), "throw")
        self.assertEqual((answer["StatusCode"], answer["FunctionError"]), (200, "Unhandled"))
        self.assertEqual(answer["Payload"], {"errorMessage": "as asked", "errorType": "Test.Error", "stackTrace": []})

    def test_a_crash_says_how_and_the_next_invocation_works(self) -> None:
        name = self.make()
        for do, with_, text in (("abort", "", "signal: aborted"), ("exit", "3", "exit status 3")):
            answer = self.cloud.invoke(name, do, with_)
            id_ = answer["ResponseMetadata"]["RequestId"]
            self.assertEqual(answer["FunctionError"], "Unhandled")
            self.assertEqual(answer["Payload"], {"errorType": "Runtime.ExitError",
                                                 "errorMessage": f"RequestId: {id_} Error: Runtime exited with error: {text}"})
        self.assertEqual(self.cloud.run(name, "count"), "1")

    def test_a_function_that_takes_too_long_is_ended(self) -> None:
        name = self.make(Timeout=1)
        answer = self.cloud.invoke(name, "sleep", "30")
        id_ = answer["ResponseMetadata"]["RequestId"]
        self.assertEqual(answer["Payload"], {"errorType": "Sandbox.Timedout",
                                             "errorMessage": f"RequestId: {id_} Error: Task timed out after 1.00 seconds"})
        self.assertEqual(self.cloud.run(name, "count"), "1")

    def test_a_function_out_of_memory_is_ended(self) -> None:
        name = self.make(MemorySize=128)
        answer = self.cloud.invoke(name, "eat", "300")
        # Without a memory cgroup the function itself finds that it gets no more.
        is_watched = not any("memory cgroup" in each for each in self.cloud.missing)
        self.assertEqual(answer["Payload"]["errorType"], "Runtime.OutOfMemory" if is_watched else "Runtime.ExitError")
        self.assertIn("signal: killed" if is_watched else "signal: ", answer["Payload"]["errorMessage"])
        self.assertEqual(self.cloud.run(name, "eat", "20"), "ate")

    def test_a_function_that_ends_at_its_start_says_so(self) -> None:
        answer = self.cloud.invoke(self.make(Environment={"Variables": {"AT_START": "exit"}}))
        self.assertEqual(answer["FunctionError"], "Unhandled")
        self.assertIn("exit status 5", answer["Payload"]["errorMessage"])

    def test_an_error_at_initialisation_is_passed_on(self) -> None:
        answer = self.cloud.invoke(self.make(Environment={"Variables": {"AT_START": "error"}}))
        self.assertEqual(answer["Payload"], {"errorMessage": "no luck", "errorType": "Test.Init"})

    def test_code_without_bootstrap_says_so(self) -> None:
        answer = self.cloud.invoke(self.make(Code={"ZipFile": archive({"other": b"x"})}))
        self.assertEqual(answer["Payload"]["errorType"], "Runtime.InvalidEntrypoint")

    def test_an_event_is_accepted_at_once_and_tried_three_times(self) -> None:
        name = self.make()
        answer = self.client.invoke(FunctionName=name, InvocationType="Event", Payload=b'{"do": "throw"}')
        self.assertEqual((answer["StatusCode"], answer["Payload"].read()), (202, b""))
        file, end, starts = self.cloud.state / "logs" / f"{name}.log", time.monotonic() + 20, 0
        while starts < 3 and time.monotonic() < end:
            time.sleep(0.05)
            starts = file.read_text().count(f"START RequestId: {answer['ResponseMetadata']['RequestId']}") if file.exists() else 0
        time.sleep(0.5)
        self.assertEqual(file.read_text().count("START RequestId"), 3)

    def test_a_dry_run_runs_nothing(self) -> None:
        name = self.make()
        self.assertEqual(self.client.invoke(FunctionName=name, InvocationType="DryRun")["StatusCode"], 204)
        self.assertEqual(self.cloud.run(name, "count"), "1")

    def test_the_runtime_gets_the_request_id_the_deadline_and_the_arn(self) -> None:
        name = self.make()
        answer = self.cloud.invoke(name, "context")
        head = answer["Payload"].lower()
        self.assertIn(f"lambda-runtime-aws-request-id: {answer['ResponseMetadata']['RequestId']}", head)
        self.assertIn(f"lambda-runtime-invoked-function-arn: arn:aws:lambda:us-east-1:000000000000:function:{name}".lower(), head)
        deadline = int(head.split("lambda-runtime-deadline-ms: ")[1].split("\r")[0])
        self.assertLess(abs(deadline / 1000 - time.time() - 10), 5)

    def test_requests_at_once_run_in_environments_of_their_own(self) -> None:
        name, answers = self.make(), []
        threads = [threading.Thread(target=lambda: answers.append(self.cloud.run(name, "sleep", "1"))) for _ in range(8)]
        began = time.monotonic()
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(answers, ["slept"] * 8)
        self.assertLess(time.monotonic() - began, 8)  # one after the other would take that long

    def test_reserved_concurrency_throttles(self) -> None:
        name = self.make()
        self.client.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=1)
        self.assertEqual(self.client.get_function_concurrency(FunctionName=name)["ReservedConcurrentExecutions"], 1)
        busy = threading.Thread(target=lambda: self.cloud.run(name, "sleep", "2"))
        busy.start()
        time.sleep(0.7)
        with self.assertRaises(self.client.exceptions.TooManyRequestsException) as caught:
            self.cloud.run(name, "count")
        busy.join()
        self.assertEqual(caught.exception.response["Reason"], "ReservedFunctionConcurrentInvocationLimitExceeded")
        self.assertEqual(caught.exception.response["ResponseMetadata"]["HTTPStatusCode"], 429)
        self.client.delete_function_concurrency(FunctionName=name)
        self.cloud.run(name, "count")

    def test_an_idle_function_does_not_run_on(self) -> None:
        name = self.make()
        self.cloud.run(name, "ticks")
        time.sleep(1)
        self.assertLess(int(self.cloud.run(name, "ticks")), 500)  # of a thousand

    def test_the_account_has_limits(self) -> None:
        self.assertEqual(self.client.get_account_settings()["AccountLimit"]["ConcurrentExecutions"], 1000)


class Throttling(unittest.TestCase):
    def test_the_accounts_concurrency_and_burst_are_limits(self) -> None:
        for options, reason in ((("--concurrency", "1"), "ConcurrentInvocationLimitExceeded"),
                                (("--burst", "1"), "ConcurrentInvocationLimitExceeded")):
            cloud = Cloud(*options)
            self.addCleanup(cloud.close)
            cloud.create("f")
            busy = threading.Thread(target=lambda: cloud.run("f", "sleep", "2"))
            busy.start()
            time.sleep(0.7)
            with self.assertRaises(cloud.client().exceptions.TooManyRequestsException) as caught:
                cloud.run("f", "count")
            self.assertEqual(caught.exception.response["Reason"], reason)
            busy.join()
            cloud.run("f", "count")


if __name__ == "__main__":
    unittest.main()
