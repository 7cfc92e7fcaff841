// SPDX-License-Identifier: Apache-2.0
// A function for the tests: a Lambda runtime of its own that does what its payload says,
// {"do": "word", "with": "text"}, and answers with a JSON string.
#include <arpa/inet.h>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <string>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char** environ;

namespace {

int connect_to(const std::string& address) {
  const auto colon = address.find(':');
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<unsigned short>(std::atoi(address.c_str() + colon + 1)));
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &where.sin_addr);
  const int made = socket(AF_INET, SOCK_STREAM, 0);
  return connect(made, reinterpret_cast<sockaddr*>(&where), sizeof where) == 0 ? made : -1;
}

/// One request over a connection of its own; the whole answer with its head.
std::string request(const std::string& address, const std::string& head, const std::string& body = {}) {
  const int peer = connect_to(address);
  if (peer < 0) return {};
  const std::string all = head + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  for (std::size_t at = 0; at < all.size();) {
    const auto count = write(peer, all.data() + at, all.size() - at);
    if (count <= 0) break;
    at += static_cast<std::size_t>(count);
  }
  std::string answer;
  char piece[65536];
  for (ssize_t count = 0; (count = read(peer, piece, sizeof piece)) > 0;) answer.append(piece, static_cast<std::size_t>(count));
  close(peer);
  return answer;
}

std::string header(const std::string& answer, const char* name) {
  const char* at = strcasestr(answer.c_str(), name);
  if (!at) return {};
  at += std::strlen(name) + 2;
  return {at, static_cast<std::size_t>(std::strchr(at, '\r') - at)};
}

std::string member(const std::string& json, const std::string& name) {
  const auto key = json.find("\"" + name + "\"");
  if (key == json.npos) return {};
  const auto start = json.find('"', json.find(':', key)) + 1;
  return json.substr(start, json.find('"', start) - start);
}

std::string quoted(const std::string& text) {
  std::string made = "\"";
  char code[8];
  for (const unsigned char c : text) {
    if (c == '"' || c == '\\' || c < 32 || c > 126) {
      std::snprintf(code, sizeof code, "\\u%04x", c);
      made += code;
    } else {
      made += static_cast<char>(c);
    }
  }
  return made + "\"";
}

std::string failure() { return std::string("error: ") + std::strerror(errno); }

// Where there are no sandboxes, the function's code is elsewhere.
std::string found_at(const std::string& path) {
  return path.starts_with("/var/task/") ? std::getenv("LAMBDA_TASK_ROOT") + path.substr(9) : path;
}

std::string read_file(const std::string& path) {
  FILE* file = std::fopen(path.c_str(), "r");
  if (!file) return failure();
  std::string text(1 << 20, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

std::string list(const std::string& path) {
  DIR* directory = opendir(path.c_str());
  if (!directory) return failure();
  std::string names;
  while (const dirent* entry = readdir(directory)) names += std::string(entry->d_name) + "\n";
  closedir(directory);
  return names;
}

std::string fill(const std::string& path, long megabytes) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  if (file < 0) return failure();
  const std::string block(1 << 20, 'x');
  long done = 0;
  while (done < megabytes && write(file, block.data(), block.size()) == static_cast<ssize_t>(block.size())) ++done;
  close(file);
  unlink(path.c_str());
  return std::to_string(done);
}

std::string fork_many() {
  int made = 0;
  for (; made < 5000; ++made) {
    const pid_t child = fork();
    if (child < 0) break;
    if (child == 0) {
      pause();
      _exit(0);
    }
  }
  kill(-1, SIGKILL);
  while (waitpid(-1, nullptr, 0) > 0) {
  }
  return std::to_string(made);
}

int runs = 0;
char* volatile eaten;
volatile long ticks = 0;

std::string act(const std::string& payload) {
  const std::string word = member(payload, "do");
  const std::string with = member(payload, "with");
  if (word == "read") return quoted(read_file(found_at(with)));
  if (word == "list") return quoted(list(with));
  if (word == "print") return std::printf("%s\n", with.c_str()), std::fflush(stdout), quoted("printed");
  if (word == "exit") std::exit(std::atoi(with.c_str()));
  if (word == "abort") std::abort();
  if (word == "sleep") return usleep(static_cast<useconds_t>(std::atof(with.c_str()) * 1e6)), quoted("slept");
  if (word == "eat") {
    for (long done = 0; done < std::atol(with.c_str()); ++done) {
      eaten = static_cast<char*>(std::malloc(1 << 20));
      std::memset(eaten, 1, 1 << 20);
    }
    return quoted("ate");
  }
  if (word == "fill") return quoted(fill("/tmp/filled", std::atol(with.c_str())));
  if (word == "write") return quoted(open(with.c_str(), O_WRONLY | O_CREAT, 0600) < 0 ? failure() : "written");
  if (word == "fork") return quoted(fork_many());
  if (word == "connect") return quoted(connect_to(with) < 0 ? failure() : "connected");
  if (word == "mount") return quoted(mount("x", "/tmp", "tmpfs", 0, nullptr) != 0 ? failure() : "mounted");
  if (word == "setuid") return quoted(setuid(0) != 0 ? failure() : "root");
  if (word == "kill") return quoted(kill(std::atoi(with.c_str()), SIGKILL) != 0 ? failure() : "killed");
  if (word == "size") return quoted(std::string(std::strtoul(with.c_str(), nullptr, 10), 'x'));
  if (word == "count") return quoted(std::to_string(++runs));
  if (word == "ticks") {
    static std::thread* const ticker = new std::thread([] {
      for (;; usleep(1000)) ticks = ticks + 1;
    });
    (void)ticker;
    return quoted(std::to_string(ticks));
  }
  if (word == "environment") {
    std::string all;
    for (char** each = environ; *each; ++each) all += std::string(*each) + "\n";
    return quoted(all);
  }
  if (word == "platform") {
    const std::string address = std::getenv("AWS_ENDPOINT_URL") + 7;
    return quoted(request(address, "GET /2015-03-31/functions/"));
  }
  return payload;
}

}  // namespace

int main() {
  const std::string api = std::getenv("AWS_LAMBDA_RUNTIME_API");
  const std::string base = "/2018-06-01/runtime/";
  if (const char* start = std::getenv("AT_START")) {
    if (!std::strcmp(start, "exit")) return 5;
    if (!std::strcmp(start, "hang")) sleep(1000);
    if (!std::strcmp(start, "error"))
      return request(api, "POST " + base + "init/error", R"({"errorMessage":"no luck","errorType":"Test.Init"})"), 1;
  }
  for (;;) {
    const std::string got = request(api, "GET " + base + "invocation/next");
    const std::string id = header(got, "lambda-runtime-aws-request-id");
    const std::string payload = got.substr(got.find("\r\n\r\n") + 4);
    const std::string where = "POST " + base + "invocation/" + id;
    if (member(payload, "do") == "throw")
      request(api, where + "/error", R"({"errorMessage":"as asked","errorType":"Test.Error","stackTrace":[]})");
    else if (member(payload, "do") == "context")
      request(api, where + "/response", quoted(got));
    else
      request(api, where + "/response", act(payload));
  }
}
