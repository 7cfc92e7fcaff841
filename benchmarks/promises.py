# SPDX-License-Identifier: Apache-2.0
"""The promises of docs/performance.md, each with the rows that show it.

A report, not a test: a busy machine misses a promise that holds, so nothing fails here.
"""

import collections
import statistics

# bound: "at most" or "at least"; of: implementation to divide by, or None for the value itself;
# inverse: reference / value instead (throughput out of times, or rates where higher is better).
Promise = collections.namedtuple("Promise", "what benchmark case implementation of bound goal inverse",
                                 defaults=(False,))


def dispatch_promises():
    for depth in (1, 64, 1024):
        case = f"empty/{depth}"
        yield Promise(f"empty task, {depth} in flight, over the bare ring", "dispatch", case,
                      "cppless, 1 worker", "bare ring", "at most", 3)
        yield Promise(f"throughput over fork+exec, {depth} in flight", "dispatch", case,
                      "cppless, 1 worker", "fork+exec per task", "at least", 1000, True)
    for who in ("cppless, host", "cppless, 2 workers"):
        yield Promise(f"idle CPU, ms/s, {who}", "dispatch_footprint", "idle", who, None,
                      "at most", 1)
    yield Promise("host memory per queued task, bytes", "dispatch_footprint",
                  "a million queued tasks", "cppless, host memory", None, "at most", 512)


def compile_promises():
    yield Promise("each further task type, ms", "compile", "each further entry, 1 to 100",
                  "cppless", None, "at most", 20)
    for flag in ("-fsyntax-only", "-O0", "-O2"):
        yield Promise(f"plugin on a source without tasks, {flag}", "compile", f"plugin/{flag}",
                      "with plugin", "without plugin", "at most", 1.03)


def serialization_promises():
    for values in ("u32", "struct", "struct with function"):
        for direction in ("encode", "encode/new", "decode", "decode/new"):
            case = f"{values}/{direction}"
            yield Promise(f"binary over a loop by hand, {case}", "serialization", case,
                          "cppless binary", "by hand", "at most", 1.15)
            yield Promise(f"base64 in JSON over binary, {case}", "serialization", case,
                          "cppless binary in JSON", "cppless binary", "at most", 2.5)


def lambda_client_promises():
    ours = "cppless HTTP/2"
    for wire in ("plain", "tls"):
        for depth in (64, 512, 2000):
            case = f"{wire}/{depth}"
            yield Promise(f"nghttp2 by hand over ours, rate, {case}", "lambda_client", case, ours,
                          "nghttp2 by hand", "at most", 2, True)
            yield Promise(f"rate over libcurl's, {case}", "lambda_client", case, ours, "libcurl",
                          "at least", 5)
        yield Promise(f"rate over boto3's, {wire}/64", "lambda_client", f"{wire}/64", ours, "boto3",
                      "at least", 100)
    yield Promise("2,000 empty invocations from nothing, TLS, ms", "lambda_client", "connect/2000",
                  ours, None, "at most", 23)
    yield Promise("client memory per invocation under way, bytes", "lambda_client", "memory", ours,
                  None, "at most", 4096)


def platform_promises():
    ours = "cppless platform"
    yield Promise("cold start, ms", "platform", "cold", ours, None, "at most", 10)
    for peer in ("Python function", "Go function"):
        yield Promise(f"cold start over that of a {peer}", "platform", "cold", ours, peer, "at most",
                      1)
    yield Promise("warm invocation, us", "platform", "warm/1", ours, None, "at most", 300)


def fiber_promises():
    ours = "cppless, a future per call"
    for workers in (1, 2):
        case = f"fib/{workers}"
        yield Promise(f"a future per call of fib, worker ns per task, {workers} workers",
                      "fiber_fib", case, ours, None, "at most", 10)
        yield Promise(f"time over oneTBB's, fib on {workers} workers", "fiber_fib", case, ours,
                      "oneTBB task_group", "at least", 10, True)
    yield Promise("a task that does not wait, ns", "fiber_tasks", "create", "cppless", None,
                  "at most", 20)
    yield Promise("a task that parks and is woken, ns", "fiber_tasks", "park and wake", "cppless",
                  None, "at most", 100)
    for tiles in (552, 2208):
        yield Promise(f"Smith-Waterman, {tiles} tiles, 1 worker over serial", "fiber_tiles",
                      f"tiles/{tiles}/1", "cppless", "serial", "at most", 1.02)
        yield Promise(f"Smith-Waterman, {tiles} tiles, speed-up with 2 workers", "fiber_tiles",
                      f"tiles/{tiles}/2", "cppless", "serial", "at least", 1.9, True)
    yield Promise("memory per parked fiber, bytes, 64 KiB stacks", "fiber_parked",
                  "a million/64 KiB stacks", "memory", None, "at most", 5120)


def all_promises():
    yield from dispatch_promises()
    yield from serialization_promises()
    yield from compile_promises()
    yield from lambda_client_promises()
    yield from platform_promises()
    yield from fiber_promises()


def measure(promise, rows):
    """The value that a promise speaks about, or None if `rows` do not show it."""
    value = rows.get((promise.benchmark, promise.case, promise.implementation))
    base = rows.get((promise.benchmark, promise.case, promise.of))
    if value is None or promise.of is None:
        return value and value["median"]
    if base is None:
        return None
    if promise.inverse:
        value, base = base, value
    # Both samples of a round saw the same weather, two medians may not have.
    pairs = list(zip(value.get("samples", []), base.get("samples", [])))
    pairs = pairs or [(value["median"], base["median"])]
    return statistics.median(a / b for a, b in pairs)


def report(rows):
    """Prints goal and measurement for the promises that `rows` speak about."""
    rows = {(row["benchmark"], row["case"], row["implementation"]): row for row in rows}
    lines = []
    for promise in all_promises():
        measured = measure(promise, rows)
        if measured is None:
            continue
        kept = measured <= promise.goal if promise.bound == "at most" else measured >= promise.goal
        lines.append(f"   {promise.what:<55} {promise.bound} {promise.goal:<6g} "
                     f"{measured:10.4g}  {'kept' if kept else 'MISSED'}")
    if lines:
        print("== promises (docs/performance.md), medians; of ratios, those within each round")
        print("\n".join(lines))
