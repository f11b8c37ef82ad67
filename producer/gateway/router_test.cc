#include "producer/gateway/router.h"

#include <gtest/gtest.h>

namespace kq::gateway {
namespace {

Router router() {
  return Router({{.method = "GET", .path = "/", .handler = nullptr},
                 {.method = "GET", .path = "/jobs/{id}", .handler = nullptr},
                 {.method = "DELETE", .path = "/jobs/{id}", .handler = nullptr},
                 {.method = "GET", .path = "/runs/{run}/jobs/{label}", .handler = nullptr}});
}

TEST(Router, names_in_a_path_are_decoded) {
  const Router routes = router();
  const RouteMatch match = routes.match("GET", "/runs/a%2Fb/jobs/relu%20x");
  ASSERT_NE(match.route, nullptr);
  EXPECT_EQ(match.path_values.at("run"), "a/b");
  EXPECT_EQ(match.path_values.at("label"), "relu x");
}

TEST(Router, method_and_path_choose_the_route) {
  const Router routes = router();
  EXPECT_EQ(routes.match("DELETE", "/jobs/1").route->method, "DELETE");
  EXPECT_EQ(routes.match("HEAD", "/jobs/1").route->method, "GET");
  EXPECT_EQ(routes.match("GET", "/").route->path, "/");
  EXPECT_EQ(routes.match("POST", "/jobs/1").route, nullptr);
  EXPECT_EQ(routes.match("POST", "/jobs/1").other_methods, (std::vector<std::string>{"GET", "DELETE"}));
}

TEST(Router, a_path_that_begins_with_a_name_is_the_last_resort) {
  const Router routes({{.method = "GET", .path = "/api/v1/runs", .handler = nullptr},
                       {.method = "POST", .path = "/{board}/{gpu}/{mode}", .handler = nullptr}});
  EXPECT_EQ(routes.match("POST", "/api/v1/runs").route, nullptr);
  EXPECT_EQ(routes.match("POST", "/api/v1/runs").other_methods, std::vector<std::string>{"GET"});
  EXPECT_EQ(routes.match("POST", "/add/H100/test").path_values.at("gpu"), "H100");
  EXPECT_EQ(routes.match("POST", "/api/v1/nothing").route, nullptr);
  EXPECT_TRUE(routes.match("GET", "/api/v1/nothing").other_methods.empty());
}

TEST(Router, other_paths_have_no_route) {
  const Router routes = router();
  for (const char* path : {"/jobs", "/jobs/", "/jobs/1/", "/jobs/1/2", "//", "", "/runs/a/jobs/%zz"}) {
    EXPECT_EQ(routes.match("GET", path).route, nullptr) << path;
    EXPECT_TRUE(routes.match("GET", path).other_methods.empty()) << path;
  }
}

}  // namespace
}  // namespace kq::gateway
