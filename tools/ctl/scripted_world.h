// A CtlWorld for tests: the broker is a function, and its clock advances only while a verb sleeps.
#pragma once

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "producer/client/scripted_link.h"
#include "tools/ctl/ctl.h"
#include "tools/ctl/world.h"

namespace kq::tools {

struct ScriptedWorld {
  std::ostringstream out;
  std::ostringstream err;
  producer::ScriptedBroker broker;
  std::int64_t unix_now_ms = 1'795'284'000'000;  // 2026-11-21T18:00:00Z
  std::vector<std::string> states;               // whose brokers connect_or_start() was asked for
  CtlWorld world{
      .out = out,
      .err = err,
      .connect = [this](const std::string&, const std::string&) { return Expected<producer::Client>(broker.client()); },
      .connect_or_start =
          [this](const std::string& state, const std::string&) {
            states.push_back(state);
            return Expected<producer::Client>(broker.client());
          },
      .unix_now_ms = [this] { return unix_now_ms; },
      .sleep =
          [this](std::int64_t ms) {
            broker.now_ms += ms;
            return false;
          },
      .verify = {},
      .restore = {}};

  // Makes the broker answer requests of one type with what `answer` returns.
  template <class Request, class Answer>
  void on(Answer answer) {
    const auto others = broker.on_request;
    broker.on_request = [this, others, answer](const Message<ClientRequest>& message) {
      const Request* request = std::get_if<Request>(&message.body);
      if (request == nullptr) return others(message);
      broker.reply(message.request_id, answer(*request), 0);
    };
  }

  // Runs kq-ctl with these arguments and returns its exit code. `out` and `err` hold what it printed.
  int run(std::vector<const char*> words) {
    out.str("");
    err.str("");
    words.insert(words.begin(), "kq-ctl");
    return run_ctl(static_cast<int>(words.size()), words.data(), world);
  }
  // Returns all requests of one type that the broker has received.
  template <class Request>
  std::vector<Request> requests_of() const {
    std::vector<Request> found;
    for (const auto& message : broker.requests) {
      if (const Request* request = std::get_if<Request>(&message.body)) found.push_back(*request);
    }
    return found;
  }
};

inline JobRow job_row(Sequence seq, JobState state = JobState::queued, const std::string& submitter = "ann") {
  JobRow row;
  row.job.seq = seq;
  row.job.state = state;
  row.job.submitter = submitter;
  row.job.run = "monday";
  row.job.submitted_at_ms = row.job.leased_at_ms = row.job.finished_at_ms = 1'795'284'000'000 - 3 * 60'000;
  row.label = "relu/" + std::to_string(seq);
  return row;
}

// Answers a JobsQuery or DeadQuery from the rows in `all`, at most `page` rows at a time.
template <class Query>
JobsReply page_of(const std::vector<JobRow>& all, const Query& query, std::size_t page) {
  JobsReply reply;
  for (const JobRow& row : all) {
    if (row.job.seq <= query.after_seq) continue;
    if constexpr (requires { query.state; }) {
      if (row.job.state != query.state) continue;
    }
    if (reply.jobs.size() == page || reply.jobs.size() == query.limit) {
      reply.more = true;
      break;
    }
    reply.jobs.push_back(row);
    reply.last_seq = row.job.seq;
  }
  return reply;
}

}  // namespace kq::tools
