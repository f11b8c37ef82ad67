#include "tools/stack/state_broker.h"

#include <filesystem>

#include "tools/stack/evaluation.h"
#include "tools/stack/state_folder.h"

namespace kq::tools {

StateBroker::~StateBroker() {
  if (stack_) stack_->stop(sleep_);
}

Expected<producer::Client> StateBroker::connect(const std::string& state, const std::string& key) {
  if (!stack_) {
    if (const auto holder = holder_of(state)) {
      if (holder->url.empty())
        return our_fault("process " + std::to_string(holder->pid) + " is starting or stopping in state folder " +
                         state + "; try again in a moment");
      return producer::Client::connect(holder->url, holder->url.starts_with("ipc://") ? "" : key);
    }
    std::error_code ignored;
    if (!std::filesystem::exists(std::filesystem::path(state) / "store" / "CURRENT", ignored))
      return failure(
          Error{ErrorKind::not_found, "state folder " + state + " has no store, so there are no jobs in it"});
    KQ_TRY_VALUE(stack_, Stack::start({.state_folder = state, .broker_url = "", .programs = programs_}, sleep_));
    say_("no broker runs; started one in " + stack_->folder().path() + " for this command");
    resume_submitters(stack_->broker_url(), stack_->left_paused());
    stack_->record_paused({});
  }
  return producer::Client::connect(stack_->broker_url(), "");
}

}  // namespace kq::tools
