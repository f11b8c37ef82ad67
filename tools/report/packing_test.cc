#include "tools/report/packing.h"

#include <gmock/gmock.h>

namespace kq::tools {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Packing, html_text_has_no_characters_with_a_meaning) {
  EXPECT_EQ(html_text("<script>alert('a & \"b\"')</script>"),
            "&lt;script&gt;alert(&#39;a &amp; &quot;b&quot;&#39;)&lt;/script&gt;");
}

TEST(Packing, html_text_shows_controls_and_changes_of_direction) {
  EXPECT_EQ(html_text("a\x1b[31m"), "a\\x1b[31m");
  EXPECT_THAT(html_text("a\u202Eb"), Not(HasSubstr("\u202E")));
  EXPECT_EQ(html_text("\xFF"), "\uFFFD");
}

TEST(Packing, names_may_be_broken_after_slashes_and_underscores) {
  EXPECT_EQ(name_html("<a>/b_c"), "&lt;a&gt;/<wbr>b_<wbr>c");
}

TEST(Packing, addresses_escape_everything_but_plain_characters) {
  EXPECT_EQ(address_of("a b#c?d/\u00e9\".html"), "a%20b%23c%3Fd%2F%C3%A9%22.html");
}

// The bytes are those of Python's base64.b64encode(zlib.compress(b"a" * 20, 6)).
TEST(Packing, packs_by_zlib_in_base64) {
  EXPECT_EQ(packed(std::string(20, 'a')), "eJxLTMQEAE+mB5U=");
}

}  // namespace
}  // namespace kq::tools
