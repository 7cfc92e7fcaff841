// SPDX-License-Identifier: Apache-2.0
#include "lambda/signature.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace cppless::detail;

namespace {

// The credentials, time and service of AWS's published test suite.
constexpr std::string_view secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
constexpr std::string_view date = "20150830T123600Z";
const signing_scope scope{"20150830", "us-east-1", "service"};

struct published {
  std::string_view name;
  std::string_view method;
  std::string_view path;
  std::string_view query;
  std::vector<header_view> headers;  // beside host and x-amz-date
  std::string_view body;
  std::string_view signature;
};

std::string signature_of(const published& request) {
  std::vector<header_view> headers = request.headers;
  headers.push_back({"Host", "example.amazonaws.com"});
  headers.push_back({"X-Amz-Date", date});
  const hex_digest body = to_hex(sha256::of(request.body));
  return signature_of({request.method, request.path, request.query, headers}, view(body), secret,
                      date, scope);
}

const std::vector<published> suite = {
    {"get-vanilla", "GET", "/", "", {}, "",
     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {"get-slash", "GET", "//", "", {}, "",
     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {"get-slash-dot-slash", "GET", "/./", "", {}, "",
     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {"get-relative", "GET", "/example/..", "", {}, "",
     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {"get-relative-relative", "GET", "/example1/example2/../..", "", {}, "",
     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {"get-slashes", "GET", "//example//", "", {}, "",
     "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84"},
    {"get-slash-pointless-dot", "GET", "/./example", "", {}, "",
     "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5"},
    {"get-space", "GET", "/example space/", "", {}, "",
     "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"},
    {"get-unreserved", "GET",
     "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "", {}, "",
     "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
    {"get-utf8", "GET", "/\u1234", "", {}, "",
     "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
    {"get-vanilla-empty-query-key", "GET", "/", "Param1=value1", {}, "",
     "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"},
    {"get-vanilla-query-order-key-case", "GET", "/", "Param2=value2&Param1=value1", {}, "",
     "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
    {"get-vanilla-query-order-value", "GET", "/", "Param1=value2&Param1=value1", {}, "",
     "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694"},
    {"get-vanilla-utf8-query", "GET", "/", "\u1234=bar", {}, "",
     "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
    {"get-header-key-duplicate", "GET", "/", "",
     {{"My-Header1", "value2"}, {"My-Header1", "value2"}, {"My-Header1", "value1"}}, "",
     "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"},
    {"get-header-value-trim", "GET", "/", "",
     {{"My-Header1", " value1"}, {"My-Header2", " \"a   b   c\""}}, "",
     "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
    {"post-vanilla", "POST", "/", "", {}, "",
     "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
    {"post-header-key-sort", "POST", "/", "", {{"My-Header1", "value1"}}, "",
     "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"},
    {"post-header-value-case", "POST", "/", "", {{"My-Header1", "VALUE1"}}, "",
     "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"},
    {"post-x-www-form-urlencoded", "POST", "/", "",
     {{"Content-Type", "application/x-www-form-urlencoded"}}, "Param1=value1",
     "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
};

wall_time time_of(std::string_view text) { return *parse_amazon_date(text); }

}  // namespace

TEST_CASE("signatures are those of AWS's published test suite") {
  for (const published& each : suite) {
    CAPTURE(each.name);
    CHECK(signature_of(each) == each.signature);
  }
}

TEST_CASE("the canonical request is the one of AWS's example") {
  const std::vector<header_view> headers = {
      {"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"},
      {"Host", "iam.amazonaws.com"},
      {"X-Amz-Date", date}};
  const hex_digest empty = to_hex(sha256::of(""));
  const std::string text =
      canonical_request({"GET", "/", "Action=ListUsers&Version=2010-05-08", headers}, view(empty));
  CHECK(view(to_hex(sha256::of(text))) ==
        "f536975d06c0309214f805bb90ccff089219ecd68b2577efef23edd43b7e1a59");
  const signing_scope iam{"20150830", "us-east-1", "iam"};
  CHECK(view(to_hex(derive_signing_key(secret, iam).sign(string_to_sign(date, iam, text)))) ==
        "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7");
}

TEST_CASE("a path that is percent-encoded already is encoded once more") {
  const std::string text = canonical_request({"GET", "/a%20b/c:d", "", {}}, "");
  CHECK(text.starts_with("GET\n/a%2520b/c%3Ad\n"));
  CHECK(canonical_request({"GET", "/a%20b//c", "", {}}, "", path_rule::as_it_is)
            .starts_with("GET\n/a%20b//c\n"));
}

TEST_CASE("dates are written and read, and what is no date is not read") {
  CHECK(amazon_date(time_of("20150830T123600Z")) == "20150830T123600Z");
  CHECK(amazon_date(time_of("20240229T235959Z")) == "20240229T235959Z");
  for (const char* text : {"", "20150830T123600", "20150230T123600Z", "20150830T243600Z",
                           "2015083xT123600Z", "20150830 123600Z", "99991231T235959Z",
                           "00010101T000000Z"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_amazon_date(text).has_value());
  }
}

TEST_CASE("the fast signer signs as the plain one does, through midnight and new credentials") {
  request_signer signer("eu-west-1", "lambda");
  signer.use({"AKIDEXAMPLE", std::string(secret), "", {}});
  request_signer::kind kind("POST", "/2015-03-31/functions/f-1%24x/invocations",
                            {{"host", "lambda.eu-west-1.amazonaws.com"},
                             {"content-type", "application/json"}});
  std::string token;
  for (const std::string_view at : {"20241231T235959Z", "20241231T235959Z", "20250101T000000Z",
                                    "20250101T000001Z", "20250102T000001Z"}) {
    signer.set_time(time_of(at));
    for (const std::string_view body : {"", "\"QUJD\"", "\"another body\""}) {
      std::vector<header_view> headers = {{"content-type", "application/json"},
                                          {"host", "lambda.eu-west-1.amazonaws.com"},
                                          {"x-amz-date", at}};
      if (!token.empty()) headers.push_back({"x-amz-security-token", token});
      const hex_digest hash = to_hex(sha256::of(body));
      const signing_scope today{std::string(at.substr(0, 8)), "eu-west-1", "lambda"};
      const auto parsed = parse_authorization(signer.sign(kind, sha256::of(body)));
      REQUIRE(parsed.has_value());
      CHECK(signer.date() == at);
      CHECK(parsed->access_key_id == "AKIDEXAMPLE");
      CHECK(parsed->scope.text() == today.text());
      CHECK(parsed->signed_headers.size() == headers.size());
      CHECK(parsed->signature ==
            signature_of({"POST", "/2015-03-31/functions/f-1%24x/invocations", "", headers},
                         view(hash), secret, at, today));
    }
    if (at == "20250101T000001Z") {
      token = "a/session+token==";
      signer.use({"AKIDEXAMPLE", std::string(secret), token, {}});
    }
  }
}

TEST_CASE("an authorization header is read, and a malformed one is not") {
  const std::string signature(64, 'a');
  const auto good = parse_authorization(
      "AWS4-HMAC-SHA256 Credential=AKID/20150830/us-east-1/lambda/aws4_request,  "
      "SignedHeaders=host;x-amz-date,Signature=" + signature);
  REQUIRE(good.has_value());
  CHECK(good->access_key_id == "AKID");
  CHECK(good->scope.service == "lambda");
  CHECK(good->signed_headers == std::vector<std::string>{"host", "x-amz-date"});
  for (const std::string& text :
       {std::string(), std::string("AWS4-HMAC-SHA256"), std::string("Bearer x"),
        "AWS4-HMAC-SHA256 Credential=AKID/20150830/us-east-1/aws4_request, SignedHeaders=host, "
        "Signature=" + signature,
        "AWS4-HMAC-SHA256 Credential=AKID/20150830/us-east-1/lambda/aws4_request, Signature=" +
            signature,
        std::string("AWS4-HMAC-SHA256 Credential=AKID/20150830/us-east-1/lambda/aws4_request, "
                    "SignedHeaders=host, Signature=abc")}) {
    CAPTURE(text);
    CHECK_FALSE(parse_authorization(text).has_value());
  }
  CHECK(is_same_signature(signature, signature));
  CHECK_FALSE(is_same_signature(signature, std::string(63, 'a') + 'b'));
  CHECK_FALSE(is_same_signature(signature, "a"));
}
