#include "tools/ctl/listing.h"

#include <gtest/gtest.h>

#include <sstream>

namespace kq::tools {
namespace {

TEST(ctl_listing, a_page_is_printed_at_once_and_later_pages_keep_its_widths) {
  std::ostringstream out;
  Listing listing(out, false, "jobs", {{"job", true}, {"label"}});
  for (std::size_t i = 1; i < kListingPage; ++i) listing.add({std::to_string(i), "x"}, {});
  EXPECT_EQ(out.str(), "");
  listing.add({"12345", "y"}, {});
  EXPECT_EQ(out.str().find("  job  label\n    1  x\n"), 0u);
  const std::size_t printed = out.str().size();
  listing.add({"7", "z"}, {});
  listing.finish();
  EXPECT_EQ(out.str().substr(printed), "    7  z\n");
  EXPECT_EQ(listing.row_count(), kListingPage + 1);
}

TEST(ctl_listing, without_rows_there_is_no_heading_and_an_empty_array) {
  std::ostringstream text;
  Listing(text, false, "jobs", {{"job", true}}).finish();
  EXPECT_EQ(text.str(), "");
  std::ostringstream json;
  Listing(json, true, "jobs", {}).finish({{"more", producer::Json{false}}});
  EXPECT_EQ(json.str(), "{\"jobs\": [], \"more\": false}\n");
}

TEST(ctl_listing, json_rows_are_printed_immediately) {
  std::ostringstream out;
  Listing listing(out, true, "jobs", {});
  listing.add({}, {{"id", json_number(1)}, {"at", json_time(0)}});
  EXPECT_EQ(out.str(), "{\"jobs\": [\n{\"id\": 1, \"at\": null}");
  listing.add({}, {{"id", json_number(2)}, {"labels", json_texts({"a", "b"})}});
  listing.finish();
  EXPECT_EQ(out.str(), "{\"jobs\": [\n{\"id\": 1, \"at\": null},\n{\"id\": 2, \"labels\": [\"a\", \"b\"]}\n]}\n");
}

}  // namespace
}  // namespace kq::tools
