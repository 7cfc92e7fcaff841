// SPDX-License-Identifier: Apache-2.0
#include "lambda/signature.hpp"

#include <iostream>
#include <string>
#include <vector>

/// Prints the Authorization header of each request on standard input: fields in lines of their own,
/// method, path, query, body, secret, session token, date, region, service, the number of headers
/// and then name and value of each.
int main() {
  using namespace cppless::detail;
  std::string method;
  while (std::getline(std::cin, method)) {
    const auto line = [] {
      std::string text;
      std::getline(std::cin, text);
      return text;
    };
    const std::string path = line(), query = line(), body = line(), secret = line(),
                      token = line(), date = line(), region = line(), service = line();
    std::vector<std::pair<std::string, std::string>> fields(std::stoul(line()));
    for (auto& [name, value] : fields) name = line(), value = line();
    std::vector<header_view> headers;
    for (const auto& [name, value] : fields) headers.push_back({name, value});

    std::vector<header_view> all = headers;
    all.push_back({"x-amz-date", date});
    if (!token.empty()) all.push_back({"x-amz-security-token", token});
    const hex_digest hash = to_hex(sha256::of(body));
    const std::string plain =
        signature_of({method, path, query, all}, view(hash), secret, date,
                     {date.substr(0, 8), region, service});
    if (query.empty()) {
      request_signer signer(region, service);
      signer.use({"AKID", secret, token, {}});
      signer.set_time(*parse_amazon_date(date));
      request_signer::kind kind(method, path, headers);
      const auto fast = parse_authorization(signer.sign(kind, sha256::of(body)));
      if (!fast || fast->signature != plain) {
        std::cout << "the two signers differ\n";
        continue;
      }
    }
    std::cout << signed_header_names(all) << ' ' << plain << '\n';
  }
}
