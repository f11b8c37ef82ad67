#include "tools/report/page.h"

#include <gmock/gmock.h>

#include "core/bytes/base64.h"
#include "core/bytes/hash.h"
#include "tools/report/packing.h"

namespace kq::tools {
namespace {

using testing::HasSubstr;
using testing::Not;

Page page() {
  return {.title = "</title><script>", .body = "<main></main>", .data = {{"rows", "AAAA"}}, .scripts = {"run();", ""}};
}

TEST(Page, allows_its_own_scripts_by_hash_and_nothing_else) {
  const std::string html = page_html({}, page());
  EXPECT_THAT(html, HasSubstr("default-src 'none'; script-src 'sha256-" + base64(as_bytes(sha256("run();"))) + "';"));
  EXPECT_THAT(html, Not(HasSubstr("'self'")));
  EXPECT_THAT(html, HasSubstr("<title>&lt;/title&gt;&lt;script&gt;</title>"));
}

TEST(Page, holds_its_data_as_text) {
  EXPECT_THAT(page_html({}, page()), HasSubstr("<script type=\"text/plain\" id=\"rows\">AAAA</script>"));
}

TEST(Page, a_linked_script_is_allowed_beside_the_page) {
  Page linked = page();
  linked.linked = "../assets/vega.js";
  EXPECT_THAT(page_html({}, linked), HasSubstr("script-src 'self' 'sha256-"));
  EXPECT_THAT(page_html({}, linked), HasSubstr("<script src=\"../assets/vega.js\"></script>\n<script>run();"));
}

TEST(Page, plots_are_packed_and_allowed_by_the_hash_of_what_is_unpacked) {
  Page plots = page();
  plots.holds_plots = true;
  const std::string html = page_html({.vega = "draw();"}, plots);
  EXPECT_THAT(html, HasSubstr("'sha256-" + base64(as_bytes(sha256("draw();"))) + "'"));
  EXPECT_THAT(html, HasSubstr("<script type=\"text/plain\" id=\"vega\">" + packed("draw();") + "</script>"));
  EXPECT_THAT(html, Not(HasSubstr("draw();")));
  EXPECT_THAT(page_html({}, plots), Not(HasSubstr("id=\"vega\"")));
}

TEST(Page, a_missing_installation_is_one_sentence) {
  const auto files = read_page_files("/nonexistent");
  ASSERT_FALSE(files);
  EXPECT_THAT(files.error().message, HasSubstr("the installation of kq is not whole"));
}

TEST(Page, names_the_licences_of_the_libraries_that_it_holds) {
  EXPECT_EQ(libraries_html({}), "");
  EXPECT_THAT(libraries_html({.vega = "x"}), HasSubstr("BSD 3-Clause"));
  EXPECT_THAT(libraries_html({.prism = "x"}), HasSubstr("MIT"));
}

}  // namespace
}  // namespace kq::tools
