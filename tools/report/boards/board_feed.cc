#include "tools/report/boards/board_feed.h"

#include <algorithm>
#include <set>

#include "producer/client/board_noise.h"
#include "producer/client/json.h"
#include "tools/cli/text.h"
#include "tools/report/boards/board_cells.h"
#include "tools/report/packing.h"
#include "tools/table/cell.h"
#include "tools/table/columns.h"
#include "tools/views/board_formats.h"

namespace kq::tools {
namespace {

using producer::Json;
using producer::JsonArray;
using producer::JsonObject;

Json text_or_null(const std::string& text) {
  return text.empty() ? Json{} : Json{text};
}

Json number_or_null(double value) {
  return value > 0 ? Json{value} : Json{};
}

Json entry_json(const Standing& entry, bool has_rank) {
  JsonObject object;
  if (has_rank) object.emplace_back("rank", Json{static_cast<std::int64_t>(entry.row.rank)});
  const RankedRow& row = entry.row;
  object.emplace_back("label", Json{row.label});
  object.emplace_back("author", text_or_null(row.author));
  object.emplace_back("submitter", text_or_null(row.submitter));
  object.emplace_back("backend", text_or_null(row.backend));
  object.emplace_back("self_reported", Json{entry.is_self_reported});
  object.emplace_back("run", Json{entry.run()});
  object.emplace_back("job_id", Json{static_cast<std::int64_t>(row.seq)});
  object.emplace_back("median_us", Json{row.median_ns / 1e3});
  object.emplace_back("noise_pct", noise_pct(row) < 0 ? Json{} : Json{noise_pct(row)});
  object.emplace_back("reference_us", number_or_null(row.reference_ns / 1e3));
  object.emplace_back("speedup", number_or_null(row.speedup));
  object.emplace_back("finished_at", to_json(utc_time(row.finished_at_ms)));
  object.emplace_back("fell_back", Json{row.fell_back});
  if (has_rank) object.emplace_back("tie_count", Json{static_cast<std::int64_t>(row.tie_count)});
  object.emplace_back("noise_us", number_or_null(row.noise_ns / 1e3));
  object.emplace_back("reference_noise_us", number_or_null(row.reference_noise_ns / 1e3));
  object.emplace_back("speedup_noise", number_or_null(producer::speedup_noise(row)));
  object.emplace_back("run_count", Json{static_cast<std::int64_t>(row.runs.size())});
  object.emplace_back("sample_count", Json{static_cast<std::int64_t>(row.sample_count)});
  object.emplace_back("noisy", Json{row.is_noisy});
  object.emplace_back("kernel_hash", Json{to_hex(row.kernel_hash)});
  JsonArray runs;
  for (const std::string& run : entry.run_names) runs.push_back({run});
  object.emplace_back("runs", Json{std::move(runs)});
  return {std::move(object)};
}

std::string time_of(const Standing& entry, const std::string& otherwise) {
  const Cell cell = utc_time(entry.row.finished_at_ms);
  const std::string* text = std::get_if<std::string>(&cell);
  return text == nullptr ? otherwise : *text;
}

struct Record {
  const Board* board;
  const Standing* entry;
  const Standing* before;  // null for the first record of a board
};

std::string entry_xml(const Record& record, const std::set<std::string>& shared, const std::string& base_url,
                      const std::string& made_at) {
  const LeaderboardRow& row = record.entry->row;
  std::string title = row.label + " is the fastest " + board_name(row, shared) + " on " + record.board->device_model +
                      ": " + noisy_time_text(row);
  if (row.speedup > 0) title += ", " + noisy_speedup_text(row) + " of the reference";
  std::string summary = record.before == nullptr
                            ? "The first entry of the board."
                            : "Before: " + record.before->row.label + " with " + noisy_time_text(record.before->row) +
                                  ", " + speedup_text(record.before->row.median_ns / row.median_ns) + " of this time.";
  const std::string slug = record.board->slug();
  const std::string time = time_of(*record.entry, made_at);
  return "<entry><id>urn:kq:record:" + address_of(slug) + ":" + std::to_string(row.seq) + "</id><title>" +
         html_text(title) + "</title><updated>" + time +
         "</updated><link rel=\"alternate\" type=\"text/html\" href=\"" + html_text(base_url) + "boards/" +
         address_of(slug) + ".html\"/><author><name>" +
         html_text(!row.author.empty()      ? row.author
                   : !row.submitter.empty() ? row.submitter
                                            : "unknown") +
         "</name></author><summary>" + html_text(summary) + "</summary></entry>\n";
}

}  // namespace

std::string boards_json(std::span<const Board> boards, const std::string& made_at) {
  JsonArray all;
  for (const Board& board : boards) {
    JsonArray entries, history;
    for (const Standing& entry : board.entries) entries.push_back(entry_json(entry, true));
    for (const Standing& entry : board.history) history.push_back(entry_json(entry, false));
    all.push_back({JsonObject{{"problem", {board.problem}},
                              {"problem_hash", {to_hex(board.problem_hash)}},
                              {"device_model", {board.device_model}},
                              {"baseline", {board.baseline}},
                              {"page", {"boards/" + board.slug() + ".html"}},
                              {"entry_count", {static_cast<std::int64_t>(board.entry_count)}},
                              {"entries", {std::move(entries)}},
                              {"history", {std::move(history)}}}});
  }
  return producer::to_text({JsonObject{
             {"schema", {std::string("kq.boards/1")}}, {"made_at", {made_at}}, {"boards", {std::move(all)}}}}) +
         '\n';
}

std::string boards_feed(std::span<const Board> boards, const std::string& base_url, const std::string& made_at) {
  std::vector<Record> records;
  for (const Board& board : boards) {
    for (std::size_t i = 0; i < board.history.size(); ++i)
      records.push_back({&board, &board.history[i], i == 0 ? nullptr : &board.history[i - 1]});
  }
  std::stable_sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
    return a.entry->row.finished_at_ms > b.entry->row.finished_at_ms;
  });
  if (records.size() > kFeedEntriesMax) records.resize(kFeedEntriesMax);
  const std::string folder = base_url.empty() || base_url.ends_with('/') ? base_url : base_url + "/";
  std::string xml =
      "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n"
      "<id>" +
      (folder.empty() ? "urn:kq:records" : html_text(folder)) + "</id><title>New records</title><updated>" +
      (records.empty() ? made_at : time_of(*records.front().entry, made_at)) +
      "</updated>\n"
      "<link rel=\"self\" href=\"" +
      html_text(folder) +
      "feed.xml\"/>"
      "<link rel=\"alternate\" type=\"text/html\" href=\"" +
      html_text(folder) + "index.html\"/>\n";
  std::vector<Standing> firsts;
  for (const Board& board : boards) {
    if (!board.entries.empty()) firsts.push_back(board.entries.front());
  }
  const std::set<std::string> shared = shared_names(firsts);
  for (const Record& record : records) xml += entry_xml(record, shared, folder, made_at);
  return xml + "</feed>\n";
}

}  // namespace kq::tools
