#include "tools/cli/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limits.h"
#include "tools/stack/fake_programs.h"
#include "tools/testing.h"

namespace kq::tools {
namespace {

std::string label_of(std::size_t i) {
  const std::string digits = std::to_string(i);
  return "p/" + std::string(4 - digits.size(), '0') + digits;
}

// A source whose run r1 has `n` rows and which has as many boards, in pages of kQueryRowsMax rows.
class FakeSource final : public Source {
 public:
  explicit FakeSource(std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) rows_.push_back(passed_row(label_of(i), 1'000, 2'000, i + 1));
  }

  Expected<RunReply> run_page(const RunQuery& query) override {
    RunReply reply;
    if (query.run != "r1") return reply;
    for (const RunRow& row : rows_) {
      if (row.entry.submission.label <= query.after_label) continue;
      reply.more = reply.rows.size() == kQueryRowsMax;
      if (reply.more) break;
      reply.rows.push_back(row);
    }
    return reply;
  }

  // Returns the boards in the order of their keys, which differs from the order of their names.
  Expected<BoardReply> board_page(const BoardQuery& query) override {
    const std::size_t first = query.after_key.empty() ? 0 : std::stoul(query.after_key);
    BoardReply reply;
    for (std::size_t i = first; i < rows_.size() && reply.rows.size() < kQueryRowsMax; ++i) {
      LeaderboardRow& row = reply.rows.emplace_back();
      row.problem = label_of(rows_.size() - 1 - i);
    }
    reply.last_key = std::to_string(first + reply.rows.size());
    reply.more = first + reply.rows.size() < rows_.size();
    return reply;
  }

  Expected<RunsReply> runs_page(const RunsQuery&) override {
    RunsReply reply;
    for (const std::string& run : runs) reply.runs.push_back({.run = run, .submitter = {}});
    return reply;
  }

  std::vector<std::string> runs;

 private:
  std::vector<RunRow> rows_;
};

// A source that always announces another page and never sends a row.
class EndlessSource final : public Source {
 public:
  Expected<RunReply> run_page(const RunQuery&) override { return RunReply{.rows = {}, .more = true}; }
  Expected<BoardReply> board_page(const BoardQuery&) override {
    return BoardReply{.rows = {}, .last_key = "", .more = true};
  }
};

TEST(Source, an_unknown_run_or_label_is_told_with_its_place_and_what_was_meant) {
  FakeSource source(2);
  source.where = "in the store /s";
  source.runs = {"r1", "alice/nightly"};
  EXPECT_TRUE(no_such_run(source, "r2").message.starts_with("there is no run 'r2' in the store /s"));
  EXPECT_THAT(no_such_run(source, "nightly").message, testing::HasSubstr("did you mean alice/nightly?"));
  EXPECT_THAT(no_such_run(source, "r1x").message, testing::HasSubstr("did you mean r1?"));
  EXPECT_EQ(no_such_run(source, "other").message.find("did you mean"), std::string::npos);
  EXPECT_TRUE(no_such_job(source, "r2", "0001").message.starts_with("there is no run 'r2' in the store /s"));
  EXPECT_EQ(no_such_job(source, "r1", "0001").message,
            "run 'r1' has no job '0001'; did you mean p/0001?; kq results r1 lists its jobs");
  EXPECT_EQ(no_such_job(source, "r1", "x").message, "run 'r1' has no job 'x'; kq results r1 lists its jobs");
  EXPECT_EQ(no_such_job(source, "r1", "x").kind, ErrorKind::not_found);
}

TEST(source, every_row_of_a_run_is_visited_once_over_all_pages) {
  FakeSource source(600);
  std::vector<std::string> labels;
  const auto visited = each_row(source, "r1", [&](const RunRow& row) {
    labels.push_back(row.entry.submission.label);
    return Expected<void>();
  });
  ASSERT_TRUE(visited) << visited.error().message;
  ASSERT_EQ(labels.size(), 600u);
  for (std::size_t i = 0; i < labels.size(); ++i) EXPECT_EQ(labels[i], label_of(i));
}

// A source of many runs.
class ManyRuns final : public Source {
 public:
  Expected<RunReply> run_page(const RunQuery&) override { return RunReply{}; }
  Expected<BoardReply> board_page(const BoardQuery&) override { return BoardReply{}; }
  Expected<RunsReply> runs_page(const RunsQuery& query) override {
    const std::size_t first = query.after.empty() ? 0 : std::stoul(query.after) - 1'000 + 1;
    RunsReply reply;
    for (std::size_t i = first; i < 600 && reply.runs.size() < kQueryRowsMax; ++i)
      reply.runs.push_back({.run = std::to_string(1'000 + i), .submitter = "", .submitted_at_ms = 0});
    reply.more = first + reply.runs.size() < 600;
    return reply;
  }
};

TEST(source, all_runs_are_listed_over_all_pages) {
  ManyRuns source;
  const auto runs = all_runs(source);
  ASSERT_TRUE(runs) << runs.error().message;
  ASSERT_EQ(runs->size(), 600u);
  EXPECT_EQ(runs->back(), "1599");
}

// A source with one file, and an Error for all others.
class OneFile final : public Source {
 public:
  explicit OneFile(ErrorKind kind) : kind_(kind) {}
  Expected<RunReply> run_page(const RunQuery&) override { return RunReply{}; }
  Expected<BoardReply> board_page(const BoardQuery&) override { return BoardReply{}; }
  Expected<FileReply> file(const FileQuery& query) override {
    if (query.run == "r1" && query.label == "relu/a" && query.hash == sha256("x"))
      return FileReply{.name = "x.py", .hash = query.hash, .bytes = std::string("x")};
    return failure(Error{kind_, "no"});
  }

 private:
  ErrorKind kind_;
};

TEST(source, a_refused_file_is_no_error_but_a_lost_broker_is) {
  const RunRow row = passed_row("relu/a", 1'000, 2'000);
  OneFile refuses(ErrorKind::bad_input), is_lost(ErrorKind::our_fault);
  EXPECT_EQ(readable_file(refuses, row, sha256("x")).value(), "x");
  EXPECT_EQ(readable_file(refuses, row, sha256("y")).value(), std::nullopt);
  EXPECT_FALSE(readable_file(is_lost, row, sha256("y")));
}

TEST(source, an_error_of_the_visitor_ends_the_iteration) {
  FakeSource source(10);
  int visits = 0;
  const auto visited = each_row(source, "r1", [&](const RunRow&) -> Expected<void> {
    if (++visits == 3) return our_fault("enough");
    return {};
  });
  EXPECT_EQ(visited.error().message, "enough");
  EXPECT_EQ(visits, 3);
}

TEST(source, an_unknown_run_has_no_rows) {
  FakeSource source(1);
  EXPECT_TRUE(each_row(source, "gone", [](const RunRow&) -> Expected<void> { return our_fault("a row"); }));
}

TEST(source, endless_paging_is_an_error) {
  EndlessSource source;
  EXPECT_FALSE(each_row(source, "r1", [](const RunRow&) { return Expected<void>(); }));
  EXPECT_FALSE(all_boards(source));
}

TEST(source, boards_are_gathered_and_ordered_by_name) {
  FakeSource source(600);
  const auto rows = all_boards(source);
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 600u);
  for (std::size_t i = 0; i < rows->size(); ++i) EXPECT_EQ((*rows)[i].problem, label_of(i));
}

TEST(source, a_state_folder_stands_for_the_store_in_it) {
  const TestFolder folder;
  folder.write("state/store/CURRENT", "");
  std::string opened;
  const auto open = [&](const std::string& path) -> Expected<std::unique_ptr<store::Store>> {
    opened = path;
    return our_fault("only looking");
  };
  EXPECT_FALSE(open_source({.broker = "", .store = folder.file("state")}, open));
  EXPECT_EQ(opened, folder.file("state/store"));
  EXPECT_FALSE(open_source({.broker = "", .store = folder.file("state/store")}, open));
  EXPECT_EQ(opened, folder.file("state/store"));
}

TEST(source, an_absent_broker_is_an_error_after_the_given_time) {
  const TestFolder folder;
  const auto open = open_source({.broker = "ipc://" + folder.file("nobody"), .store = "", .answer_ms = 20}, {});
  EXPECT_EQ(open.error().kind, ErrorKind::our_fault);
  EXPECT_NE(open.error().message.find("did not answer within 20 ms"), std::string::npos) << open.error().message;
}

TEST(source, a_wrong_broker_url_is_bad_input) {
  EXPECT_EQ(open_source({.broker = "nonsense", .store = ""}, {}).error().kind, ErrorKind::bad_input);
}

}  // namespace
}  // namespace kq::tools
