#include "producer/client/run_rows.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/limits.h"
#include "core/messages.h"
#include "producer/client/label_order.h"

namespace kq::producer {

Expected<void> each_row_of(Client& client, const std::string& run, std::vector<std::string> labels,
                           const VisitRow& visit) {
  std::size_t unlimited = std::numeric_limits<std::size_t>::max();
  return each_row_of(client, run, std::move(labels), visit, unlimited);
}

Expected<void> each_row_of(Client& client, const std::string& run, std::vector<std::string> labels,
                           const VisitRow& visit, std::size_t& queries_left) {
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  std::string last;  // the label of the last row that was read
  for (auto wanted = labels.begin(); wanted != labels.end();) {
    const auto left = static_cast<std::size_t>(labels.end() - wanted);
    const RunQuery query{.run = run,
                         .after_label = std::max(last, before_label(*wanted)),
                         .limit = static_cast<std::uint32_t>(std::min<std::size_t>(left, kQueryRowsMax))};
    if (queries_left == 0) return failure(Error{ErrorKind::gave_up, "the rows of run " + run + " are too many"});
    --queries_left;
    KQ_TRY_VALUE(const RunReply page, client.ask_for<RunReply>(query));
    for (const RunRow& row : page.rows) {
      last = row.entry.submission.label;
      wanted = std::lower_bound(wanted, labels.end(), last);
      if (wanted == labels.end()) return {};
      if (*wanted != last) continue;
      visit(row);
      ++wanted;
    }
    if (page.rows.empty() || !page.more) return {};
    wanted = std::upper_bound(wanted, labels.end(), last);
  }
  return {};
}

}  // namespace kq::producer
