// The boards for other programs: JSON with a schema, and an Atom feed of new records.
#pragma once

#include <span>
#include <string>

#include "tools/report/boards/board_history.h"

namespace kq::tools {

inline constexpr std::size_t kFeedEntriesMax = 100;

// Returns the document that share/kq.boards-1.schema.json describes.
std::string boards_json(std::span<const Board> boards, const std::string& made_at);

// Returns an Atom feed (RFC 4287) of the newest records. `base_url` is the address of the folder of the pages; if it is
// empty the links are relative.
std::string boards_feed(std::span<const Board> boards, const std::string& base_url, const std::string& made_at);

}  // namespace kq::tools
