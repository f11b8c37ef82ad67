#include "producer/gateway/gateway.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <stdexcept>

#include "producer/gateway/testing.h"

namespace kq::gateway {
namespace {

using testing::HasSubstr;

const NewToken kAda = make_token("ada", 0, "random");

std::unique_ptr<Tokens> tokens() {
  std::string name = "/tmp/kq-gateway-test.XXXXXX";
  const int file = ::mkstemp(name.data());
  EXPECT_EQ(::write(file, kAda.line.data(), kAda.line.size()), static_cast<ssize_t>(kAda.line.size()));
  auto opened = Tokens::open(name);
  ::close(file);
  ::unlink(name.c_str());
  EXPECT_TRUE(opened);
  return std::move(*opened);
}

Response old_shape(int status, const std::string& error, const Request&) {
  return {.status = status, .type = "application/json", .body = "{\"error\": " + producer::json_quoted(error) + "}"};
}

Routes routes() {
  return {
      {.method = "GET",
       .path = "/open",
       .access = Access::anyone,
       .handler = [](const Request& request,
                     Service&) { return Response{.status = 200, .body = request.submitter.name + "|" + request.id}; }},
      {.method = "POST",
       .path = "/mine/{name}",
       .handler =
           [](const Request& request, Service&) {
             return Response{
                 .status = 200,
                 .body = request.submitter.name + " " + request.path_values.at("name") + " " + request.body};
           },
       .body_bytes_max = 10},
      {.method = "GET",
       .path = "/old",
       .handler = [](const Request&, Service&) -> Response { throw std::runtime_error("no memory"); },
       .error_shape = old_shape},
      {.method = "GET",
       .path = "/wait",
       .access = Access::anyone,
       .handler =
           [](const Request&, Service&) {
             return Response{.status = 200, .stream = [](const Write& write) { return write("x"); }};
           },
       .waits = true,
       .parameters = {{"seconds"}}},
      {.method = "POST",
       .path = "/operate",
       .access = Access::operators,
       .handler = [](const Request& request, Service&) {
         return Response{.status = 200, .body = request.submitter.is_operator ? "operator" : "?"};
       }}};
}

class GatewayTest : public testing::Test {
 protected:
  net::HttpApp app(const Tokens* known = nullptr, GatewayOptions options = {}) {
    gateway_ = std::make_unique<Gateway>(routes(), service_, known, std::move(options));
    return gateway_->app([](const net::HttpLogEntry&) {});
  }
  // Returns the answer as a listener would get it.
  static Response ask(const net::HttpApp& app, net::HttpRequest request) {
    net::HttpAdmission admission = app.admit(request);
    return admission.refusal ? std::move(*admission.refusal) : app.answer(request);
  }
  static net::HttpRequest request(const std::string& method, const std::string& path) {
    net::HttpRequest made;
    made.method = method;
    made.path = path;
    made.headers["host"] = "localhost:8000";
    return made;
  }
  static std::string header(const Response& response, const std::string& name) {
    for (const auto& [known, value] : response.headers) {
      if (known == name) return value;
    }
    return "";
  }

  FakeService service_;
  std::unique_ptr<Gateway> gateway_;
};

TEST_F(GatewayTest, a_request_reaches_its_handler) {
  const net::HttpApp served = app();
  net::HttpRequest asked = request("POST", "/mine/a%20b");
  asked.body = "text";
  EXPECT_EQ(ask(served, asked).body, " a b text");
  EXPECT_EQ(served.admit(asked).body_bytes_max, 10u);
}

TEST_F(GatewayTest, unknown_paths_and_methods_are_problems) {
  const net::HttpApp served = app();
  EXPECT_EQ(ask(served, request("GET", "/none")).status, 404);
  const Response wrong = ask(served, request("DELETE", "/open"));
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(header(wrong, "Allow"), "GET");
  EXPECT_EQ(wrong.type, "application/problem+json");
  EXPECT_EQ(header(wrong, "X-Content-Type-Options"), "nosniff");
}

TEST_F(GatewayTest, a_token_is_needed_where_there_are_tokens) {
  const auto known = tokens();
  const net::HttpApp served = app(known.get());
  net::HttpRequest asked = request("POST", "/mine/x");
  const Response refused = ask(served, asked);
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(header(refused, "WWW-Authenticate"), "Bearer");
  asked.headers["authorization"] = "Bearer wrong";
  EXPECT_EQ(ask(served, asked).status, 401);
  asked.headers["authorization"] = "Basic " + kAda.token;
  EXPECT_EQ(ask(served, asked).status, 401);
  asked.headers["authorization"] = "bearer " + kAda.token;
  EXPECT_EQ(ask(served, asked).body, "ada x ");
  asked.headers.erase("authorization");
  asked.headers["x-popcorn-cli-id"] = kAda.token;
  EXPECT_EQ(ask(served, asked).body, "ada x ");
  EXPECT_EQ(ask(served, request("GET", "/open")).status, 200);
}

TEST_F(GatewayTest, only_operators_operate) {
  net::HttpRequest asked = request("POST", "/operate");
  asked.headers["authorization"] = "Bearer " + kAda.token;
  EXPECT_EQ(ask(app(), asked).status, 403);  // the gateway has no operators
  const auto known = tokens();
  const net::HttpApp served = app(nullptr, {.operators = known.get()});
  EXPECT_EQ(ask(served, asked).body, "operator");
  asked.headers["authorization"] = "Bearer wrong";
  EXPECT_EQ(ask(served, asked).status, 401);
  asked.headers.erase("authorization");
  EXPECT_EQ(ask(served, asked).status, 401);
  EXPECT_EQ(ask(served, request("POST", "/mine/x")).status, 200);  // reading and submitting need no token here
}

TEST_F(GatewayTest, an_operator_is_refused_where_the_key_of_the_gateway_may_not_operate) {
  const auto known = tokens();
  const net::HttpApp served = app(nullptr, {.operators = known.get(), .key_role = Role::gateway});
  net::HttpRequest asked = request("POST", "/operate");
  asked.headers["authorization"] = "Bearer " + kAda.token;
  EXPECT_EQ(ask(served, asked).status, 403);
  EXPECT_THAT(ask(served, asked).body, HasSubstr("the key of this gateway has the role gateway"));
  asked = request("POST", "/mine/x");
  asked.headers["authorization"] = "Bearer " + kAda.token;
  EXPECT_EQ(ask(served, asked).status, 200);
}

TEST_F(GatewayTest, an_operator_sees_all_runs_and_a_submitter_does_not_operate) {
  const auto known = tokens();
  const NewToken root = make_token("root", 0, "other");
  std::string name = "/tmp/kq-gateway-test.XXXXXX";
  const int file = ::mkstemp(name.data());
  ASSERT_EQ(::write(file, root.line.data(), root.line.size()), static_cast<ssize_t>(root.line.size()));
  const auto operators = std::move(*Tokens::open(name));
  ::close(file);
  ::unlink(name.c_str());
  const net::HttpApp served = app(known.get(), {.operators = operators.get()});
  net::HttpRequest asked = request("POST", "/operate");
  asked.headers["authorization"] = "Bearer " + kAda.token;
  EXPECT_EQ(ask(served, asked).status, 403);
  net::HttpRequest mine = request("POST", "/mine/x");
  mine.headers["authorization"] = "Bearer " + root.token;
  EXPECT_EQ(ask(served, mine).body, " x ");
  EXPECT_EQ(ask(served, request("POST", "/mine/x")).status, 401);
}

TEST_F(GatewayTest, a_web_page_cannot_reach_a_gateway_without_tokens) {
  const net::HttpApp served = app();
  net::HttpRequest asked = request("GET", "/open");
  asked.headers["host"] = "evil.example:8000";
  EXPECT_EQ(ask(served, asked).status, 403);
  asked.headers["host"] = "127.0.0.1:8000";
  EXPECT_EQ(ask(served, asked).status, 200);
  asked.headers["origin"] = "http://evil.example";
  EXPECT_EQ(ask(served, asked).status, 403);
  asked.headers["origin"] = "http://127.0.0.1:8000";
  EXPECT_EQ(ask(served, asked).status, 200);
  asked.headers["host"] = "[::1]:8000";
  asked.headers.erase("origin");
  EXPECT_EQ(ask(served, asked).status, 200);
}

TEST_F(GatewayTest, errors_have_the_shape_of_their_route) {
  const auto known = tokens();
  EXPECT_THAT(ask(app(known.get()), request("GET", "/old")).body, HasSubstr("{\"error\": \"a valid token"));
  const Response failed = ask(app(), request("GET", "/old"));
  EXPECT_EQ(failed.status, 500);
  EXPECT_EQ(failed.body, "{\"error\": \"the gateway failed on this request: no memory\"}");
  EXPECT_EQ(app().reject({413, "too long"}, request("GET", "/old")).body, "{\"error\": \"too long\"}");
}

TEST_F(GatewayTest, a_query_that_does_not_fit_its_route_is_refused) {
  net::HttpRequest asked = request("GET", "/wait");
  asked.query = {{"seconds", "1"}};
  EXPECT_EQ(ask(app(), asked).status, 200);
  asked.query.emplace("secnds", "2");
  const Response response = ask(app(), asked);
  EXPECT_EQ(response.status, 400);
  EXPECT_THAT(response.body, HasSubstr("did you mean seconds?"));
}

TEST_F(GatewayTest, an_encoded_body_is_refused) {
  net::HttpRequest encoded = request("POST", "/mine/x");
  encoded.headers["content-encoding"] = "identity";
  EXPECT_EQ(ask(app(), encoded).status, 200);
  encoded.headers["content-encoding"] = "GZip";
  const Response response = ask(app(), encoded);
  EXPECT_EQ(response.status, 415);
  EXPECT_THAT(response.body, HasSubstr("the body has the Content-Encoding gzip"));
}

TEST_F(GatewayTest, waits_are_limited) {
  const net::HttpApp served = app(nullptr, {.limits = {.waits_max = 1, .submitter_waits_max = 1}});
  const auto first = std::make_unique<Response>(ask(served, request("GET", "/wait")));
  EXPECT_EQ(first->status, 200);
  EXPECT_EQ(gateway_->wait_count(), 1u);
  const Response second = ask(served, request("GET", "/wait"));
  EXPECT_EQ(second.status, 503);
  EXPECT_EQ(header(second, "Retry-After"), "1");
}

TEST_F(GatewayTest, a_wait_ends_with_its_answer) {
  const net::HttpApp served = app(nullptr, {.limits = {.waits_max = 1, .submitter_waits_max = 1}});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(served, request("GET", "/wait")).status, 200);
  EXPECT_EQ(gateway_->wait_count(), 0u);
}

TEST_F(GatewayTest, every_request_has_an_id) {
  const net::HttpApp served = app(nullptr, {.instance = "g"});
  EXPECT_EQ(ask(served, request("GET", "/open")).body, "|g-1");
  EXPECT_EQ(header(ask(served, request("GET", "/none")), "X-Request-Id"), "g-2");
  net::HttpRequest asked = request("GET", "/open");
  asked.headers["x-request-id"] = "mine-7";
  EXPECT_EQ(ask(served, asked).body, "|mine-7");
  asked.headers["x-request-id"] = "not an id";
  EXPECT_EQ(ask(served, asked).body, "|g-3");
}

TEST_F(GatewayTest, a_real_socket_works) {
  auto listener = net::HttpListener::start("127.0.0.1", 0, app());
  ASSERT_TRUE(listener) << listener.error().message;
  EXPECT_GT((*listener)->port(), 0);
  (*listener)->stop(0);
}

}  // namespace
}  // namespace kq::gateway
