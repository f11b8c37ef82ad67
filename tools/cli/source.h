// Where a tool reads from: a broker that runs, or the store of one that does not.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/messages.h"
#include "producer/client/client.h"
#include "store/store.h"
#include "tools/cli/flags.h"

namespace kq::tools {

class Source {
 public:
  virtual ~Source() = default;
  virtual Expected<RunReply> run_page(const RunQuery& query) = 0;
  virtual Expected<BoardReply> board_page(const BoardQuery& query) = 0;
};

std::unique_ptr<Source> broker_source(producer::Client& client);  // the client outlives it
std::unique_ptr<Source> store_source(std::unique_ptr<store::Store> store);

// Every row of a run in label order, one page in memory at a time; `visit` ends it early with an Error.
using VisitRow = std::function<Expected<void>(const RunRow& row)>;
Expected<void> each_row(Source& source, const std::string& run, const VisitRow& visit, bool with_samples = false);

// All boards, ordered by problem name, then device model.
Expected<std::vector<LeaderboardRow>> all_boards(Source& source);

// --broker and --store, the same for every tool that reads.
struct SourceOptions {
  std::string broker;
  std::string key{};  // file; empty: none
  std::string store;
  std::int64_t answer_ms = producer::kAnswerTimeoutMs;  // that a broker has to answer at all
};
void add_flags(Flags& flags, SourceOptions& options);

// Opens a store directory for reading. A parameter, because only a main may know the real one.
using OpenStore = std::function<Expected<std::unique_ptr<store::Store>>(const std::string& folder)>;

// A source and what it stands on. A broker has been asked whether it is there.
struct OpenSource {
  std::unique_ptr<producer::Client> client;  // null when a store is read
  std::unique_ptr<Source> source;
};
// The store when one is named, else the broker.
Expected<OpenSource> open_source(const SourceOptions& options, const OpenStore& open_store);

}  // namespace kq::tools
