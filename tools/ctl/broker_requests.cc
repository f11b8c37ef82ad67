#include "tools/ctl/broker_requests.h"

#include <charconv>

#include "core/limits.h"
#include "net/endpoint.h"
#include "tools/cli/text.h"

namespace kq::tools {

void add_flags(Flags& flags, BrokerFlags& into) {
  into.broker = net::kDefaultBrokerUrl;
  flags.option("--broker", "URL", "ask this broker (default " + into.broker + ")", into.broker, "KQ_BROKER");
  flags.option("--key", "FILE", "your key, where the broker wants one", into.key, "KQ_KEY");
  flags.flag("--json", "one JSON object on stdout", into.json);
}

Expected<producer::Client> connect(const CtlWorld& world, const BrokerFlags& flags) {
  return world.connect(flags.broker, flags.key);
}

Expected<std::vector<Sequence>> parse_seqs(const std::vector<std::string>& words) {
  std::vector<Sequence> seqs;
  for (const std::string& word : words) {
    Sequence seq = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), seq);
    if (error != std::errc() || end != word.data() + word.size() || seq == 0) {
      return bad_input("a job's number is needed, as kq submit prints it, got '" + word + "'");
    }
    seqs.push_back(seq);
  }
  return seqs;
}

Expected<void> each_run_page(producer::Client& client, const std::string& run,
                             const std::function<Expected<void>(const std::vector<RunRow>&)>& visit) {
  RunQuery query{.run = run, .after_label = "", .limit = kQueryRowsMax};
  for (bool is_first = true;; is_first = false) {
    KQ_TRY_VALUE(const auto page, ask<RunReply>(client, query));
    if (page.rows.empty()) {
      if (is_first) return failure(Error{ErrorKind::not_found, "there is no run '" + run + "'"});
      return {};
    }
    if (auto visited = visit(page.rows); !visited) return visited;
    if (!page.more) return {};
    query.after_label = page.rows.back().entry.submission.label;
  }
}

}  // namespace kq::tools
