#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the fuzz targets with clang, AddressSanitizer and UBSan, and runs each for some inputs.

    tests/fuzz/run.py [--runs N] [--only NAME] [--build FOLDER] [--seed N] [-O N]

Fails if any input crashes, leaks, hangs or breaks what fuzz.hpp says. An offending input is left in
the build folder and named; run the target with it as its only argument to see it again.
"""

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIBRARY = ROOT / "library"
PLATFORM = ROOT / "platform" / "src"

def sources_of(*rooms):
    return [f"{room}/{path.name}" for room in rooms for path in sorted((LIBRARY / "src" / room).glob("*.cpp"))
            if not path.name.endswith(("_test.cpp", "_main.cpp"))]


# name: (sources of the library beside those of the COMMON rooms, longest input)
COMMON = ("base", "wire", "trace", "task")
TARGETS = {
    "values": ([], 4096),
    "objects": ([], 4096),
    "json_binary": ([], 65536),
    "json_structured": ([], 4096),
    "runtime_reply": (["lambda/runtime_reply.cpp"], 65536),
    "lambda_texts": (["lambda/answer.cpp", "lambda/credentials_json.cpp", "lambda/runtime_request.cpp",
                      "lambda/shared_config.cpp", "lambda/sha256.cpp", "lambda/signature.cpp", "http/url.cpp"], 4096),
    "detached_result": (["process/detached_outcome.cpp"], 4096),
    "worker_frames": (sources_of("process"), 1024),
}

# Parsers of the local cloud, where its libraries are installed: (its sources, longest input).
PLATFORM_TARGETS = {
    "platform_http": (["http/head_parser", "http/http1", "http/http2", "http/stream"], 16384),
    "platform_archive": (["state/code_archive"], 4096),
    "platform_request": (["api/arn", "api/configuration", "api/error", "api/signature", "api/uri", "state/account",
                          "state/code_archive", "state/credentials", "state/digest", "state/file"], 4096),
}
PLATFORM_LIBRARIES = ["-lnghttp2", "-lzip", "-lssl", "-lcrypto"]
if all(pathlib.Path("/usr/include", header).exists() for header in ("zip.h", "nghttp2/nghttp2.h", "nlohmann/json.hpp", "openssl/ssl.h")):
    TARGETS.update(PLATFORM_TARGETS)

# Each input must end within 10 s and 512 MB: an allocation out of proportion is a finding, too.
LIMITS = ["-rss_limit_mb=512", "-malloc_limit_mb=256", "-timeout=10"]


def find_compiler():
    wanted = os.environ.get("CPPLESS_FUZZ_CXX")
    for name in [wanted] if wanted else ["clang++-19", "clang++-16", "clang++"]:
        if shutil.which(name):
            return name
    sys.exit("fuzz: no clang++ found; install clang-19 (tools/setup) or set CPPLESS_FUZZ_CXX")


def run(command, **options):
    print("+", " ".join(map(str, command)), flush=True)
    return subprocess.run(command, check=False, **options).returncode


def build(compiler, folder, names, level):
    """Objects are compiled anew each time, as many at once as there are cores: some minutes."""
    flags = ["-std=c++20", f"-O{level}", "-g", "-fsanitize=fuzzer-no-link,address,undefined",
             "-fno-sanitize-recover=undefined", f"-I{LIBRARY / 'include'}", f"-I{LIBRARY / 'src'}"]

    archive = folder / "common.a"

    def compile_common(source):
        target = folder / f"common-{source.parent.name}-{source.stem}.o"
        if run([compiler, *flags, "-c", source, "-o", target]) != 0:
            raise RuntimeError(f"{source} does not compile")
        return target

    def compile_target(name):
        mine, extra = [], [LIBRARY / "src" / source for source in TARGETS[name][0]]
        if name in PLATFORM_TARGETS:
            mine = [f"-I{PLATFORM}"]  # first: rooms of both have equal names
            extra = [*[PLATFORM / f"{source}.cpp" for source in TARGETS[name][0]], *PLATFORM_LIBRARIES]
        if run([compiler, *mine, *flags, "-fsanitize=fuzzer", HERE / f"{name}.cpp", *extra, archive,
                "-o", folder / name, "-lcrypto"]) != 0:
            raise RuntimeError(f"{name} does not compile")

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            common = list(pool.map(compile_common, [*map((LIBRARY / "src").joinpath, sources_of(*COMMON)),
                                                  HERE / "driver.cpp"]))
            archive.unlink(missing_ok=True)
            if run(["ar", "rcs", archive, *common]) != 0:
                raise RuntimeError("what the targets share cannot be put together")
            list(pool.map(compile_target, names))
        except RuntimeError as error:
            pool.shutdown(cancel_futures=True)
            sys.exit(f"fuzz: {error}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=1_000_000, help="inputs per target")
    parser.add_argument("--only", choices=sorted(TARGETS), help="this target only")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--seed", type=int, default=1, help="of the random numbers; 0: another each time")
    parser.add_argument("-O", dest="level", choices="012", default="1",
                        help="the compiler's optimisation: 0 is soonest done for few inputs")
    options = parser.parse_args()
    names = [options.only] if options.only else sorted(TARGETS)
    folder = options.build.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    build(find_compiler(), folder, names, options.level)
    failed = []
    # What is freed is kept for a while to catch its use; by default 256 MB, half of what is allowed.
    environment = {**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=16"}
    for name in names:
        start = time.monotonic()
        code = run([folder / name, f"-runs={options.runs}", f"-max_len={TARGETS[name][1]}",
                    f"-seed={options.seed}", f"-artifact_prefix={folder / name}-", *LIMITS,
                    "-print_final_stats=1", "-verbosity=0"], env=environment)
        print(f"fuzz: {name}: {options.runs} inputs in {time.monotonic() - start:.0f} s, "
              f"{'clean' if code == 0 else f'FAILED with exit code {code}'}", flush=True)
        if code != 0:
            failed.append(name)
    if failed:
        sys.exit(f"fuzz: {len(failed)} of {len(names)} targets failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
