#include "producer/gateway/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "producer/gateway/routes.h"
#include "producer/gateway/testing.h"

namespace kq::gateway {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(c - 'a' + 'A');
  return text;
}

TEST(GatewayDocuments, the_description_has_exactly_the_routes) {
  const auto description = producer::parse_json(openapi_text());
  ASSERT_TRUE(description) << description.error().message;
  std::set<std::string> described;
  for (const auto& [path, item] : *description->find("paths")->object()) {
    for (const auto& [method, operation] : *item.object()) described.insert(upper(method) + " " + path);
  }
  std::set<std::string> served;
  for (const Route& route : all_routes({}, {}, [] { return std::string(); }))
    served.insert(route.method + " " + route.path);
  EXPECT_EQ(served, described);
}

TEST(GatewayDocuments, the_description_says_which_routes_need_no_token) {
  const auto description = producer::parse_json(openapi_text());
  ASSERT_TRUE(description);
  for (const Route& route : all_routes({}, {}, [] { return std::string(); })) {
    std::string method = route.method;
    for (char& c : method) c = static_cast<char>(c - 'A' + 'a');
    const producer::Json* operation = description->find("paths")->find(route.path)->find(method);
    const producer::Json* security = operation->find("security");
    EXPECT_EQ(route.access == Access::anyone, security != nullptr && security->array()->empty()) << route.path;
    EXPECT_EQ(route.access == Access::submitter, operation->find("responses")->find("401") != nullptr) << route.path;
  }
}

TEST(GatewayDocuments, the_page_loads_nothing_from_another_host) {
  EXPECT_THAT(std::string(page_text()), Not(HasSubstr("//cdn")));
  EXPECT_THAT(std::string(page_text()), Not(HasSubstr("https://")));
  FakeService service;
  for (const Route& route : document_routes()) {
    const Response response = route.handler(test_request("GET", route.path), service);
    EXPECT_EQ(response.status, 200);
    EXPECT_FALSE(response.body.empty());
  }
}

}  // namespace
}  // namespace kq::gateway
