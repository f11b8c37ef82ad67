#include "producer/gateway/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "producer/gateway/routes.h"
#include "producer/gateway/testing.h"

namespace kq::gateway {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

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
  for (const Route& route : all_routes({}, {}, "", [] { return std::string(); }))
    served.insert(route.method + " " + route.path);
  EXPECT_EQ(served, described);
}

TEST(GatewayDocuments, the_description_says_which_routes_need_no_token) {
  const auto description = producer::parse_json(openapi_text());
  ASSERT_TRUE(description);
  for (const Route& route : all_routes({}, {}, "", [] { return std::string(); })) {
    std::string method = route.method;
    for (char& c : method) c = static_cast<char>(c - 'A' + 'a');
    const producer::Json* operation = description->find("paths")->find(route.path)->find(method);
    const producer::Json* security = operation->find("security");
    EXPECT_EQ(route.access == Access::anyone, security != nullptr && security->array()->empty()) << route.path;
    EXPECT_EQ(route.access != Access::anyone, operation->find("responses")->find("401") != nullptr) << route.path;
  }
}

// Returns the parameters of a query that an operation describes, with a "*" behind those that may be repeated.
std::set<std::string> described_parameters(const producer::Json& description, const producer::Json& operation) {
  constexpr std::string_view kShared = "#/components/parameters/";
  std::set<std::string> names;
  const producer::Json* all = operation.find("parameters");
  if (all == nullptr) return names;
  for (const producer::Json& given : *all->array()) {
    const producer::Json* reference = given.find("$ref");
    const producer::Json& one =
        reference == nullptr
            ? given
            : *description.find("components")->find("parameters")->find(reference->text()->substr(kShared.size()));
    if (one.find("in") == nullptr || *one.find("in")->text() != "query") continue;
    const producer::Json* type = one.find("schema")->find("type");
    names.insert(*one.find("name")->text() + (type != nullptr && *type->text() == "array" ? "*" : ""));
  }
  return names;
}

TEST(GatewayDocuments, own_routes_take_exactly_the_described_parameters) {
  const auto description = producer::parse_json(openapi_text());
  ASSERT_TRUE(description);
  for (const Route& route : all_routes({}, {}, "", [] { return std::string(); })) {
    EXPECT_EQ(route.takes_any_parameter, !route.path.starts_with("/api/v1/")) << route.path;
    if (route.takes_any_parameter) continue;
    std::string method = route.method;
    for (char& c : method) c = static_cast<char>(c - 'A' + 'a');
    std::set<std::string> taken;
    for (const QueryParameter& one : route.parameters) taken.insert(one.name + (one.may_repeat ? "*" : ""));
    EXPECT_EQ(taken, described_parameters(*description, *description->find("paths")->find(route.path)->find(method)))
        << route.method << " " << route.path;
  }
}

// Adds the references within a JSON value.
void add_references(const producer::Json& json, std::set<std::string>& references) {
  if (json.array() != nullptr) {
    for (const producer::Json& one : *json.array()) add_references(one, references);
  }
  if (json.object() == nullptr) return;
  for (const auto& [name, value] : *json.object()) {
    if (name == "$ref") references.insert(*value.text());
    add_references(value, references);
  }
}

TEST(GatewayDocuments, every_reference_of_the_description_leads_somewhere) {
  const auto description = producer::parse_json(openapi_text());
  ASSERT_TRUE(description);
  std::set<std::string> references;
  add_references(*description, references);
  EXPECT_FALSE(references.empty());
  for (const std::string& reference : references) {
    ASSERT_THAT(reference, StartsWith("#/"));
    const producer::Json* place = &*description;
    for (std::size_t at = 2; place != nullptr && at < reference.size();) {
      const std::size_t end = std::min(reference.find('/', at), reference.size());
      place = place->find(reference.substr(at, end - at));
      at = end + 1;
    }
    EXPECT_NE(place, nullptr) << reference;
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
