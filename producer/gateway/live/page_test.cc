#include "producer/gateway/live/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kq::gateway {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(LivePage, the_page_allows_its_scripts_and_its_gateway_only) {
  const std::string page = live_page_html({.style = "p {}", .common = "1", .job = "2", .live = "3"}, false);
  EXPECT_THAT(page, HasSubstr("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(page, HasSubstr("connect-src 'self'"));
  EXPECT_THAT(page, HasSubstr("<script>3</script>"));
  EXPECT_THAT(page, Not(HasSubstr("http://")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
  EXPECT_THAT(page, Not(HasSubstr("data-needs-token")));
  EXPECT_THAT(live_page_html({}, true), HasSubstr("<main data-needs-token=\"yes\">"));
}

}  // namespace
}  // namespace kq::gateway
