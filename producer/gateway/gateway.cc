#include "producer/gateway/gateway.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>

#include "net/endpoint.h"

namespace kq::gateway {
namespace {

constexpr std::size_t kRequestIdBytesMax = 64;
constexpr std::string_view kBearer = "bearer ";

// Returns "kq:8000" of "kq:8000" and "kq" of "kq", without the port.
std::string_view host_of(std::string_view authority) {
  if (authority.starts_with('[')) return authority.substr(0, authority.find(']') + 1);
  return authority.substr(0, authority.find(':'));
}

std::string lower(std::string_view text) {
  std::string low(text);
  for (char& c : low) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return low;
}

bool is_request_id(std::string_view text) {
  return !text.empty() && text.size() <= kRequestIdBytesMax && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
           c == '.';
  });
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// Returns the token of a request; popcorn-cli sends its token in a header field of its own.
std::optional<std::string> token_of(const net::HttpRequest& request) {
  const auto given = request.header("authorization");
  if (given && lower(*given).starts_with(kBearer)) return given->substr(kBearer.size());
  return request.header("x-popcorn-cli-id");
}

Request plain(const net::HttpRequest& request) {
  Request made;
  static_cast<net::HttpRequest&>(made) = request;
  return made;
}

Response shaped(const Route* route, int status, const std::string& sentence, const Request& request) {
  Response response = route != nullptr && route->error_shape != nullptr ? route->error_shape(status, sentence, request)
                                                                        : problem(status, sentence, request);
  if (status == 503) response.headers.emplace_back("Retry-After", std::to_string(kRetryAfterSeconds));
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

// Adds the header fields that every answer has.
void finish(Response& response, const net::HttpRequest& request) {
  if (!request.id.empty()) response.headers.emplace_back("X-Request-Id", request.id);
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  const auto has_cache_header = [](const auto& header) { return lower(header.first) == "cache-control"; };
  if (std::none_of(response.headers.begin(), response.headers.end(), has_cache_header))
    response.headers.emplace_back("Cache-Control", "no-store");
}

}  // namespace

// The route of a request and its submitter, or why the request is refused.
struct Gateway::Finding {
  RouteMatch match;
  Submitter submitter;
  int status = 0;  // 0: the request may be served
  std::string sentence;
};

Gateway::Gateway(Routes routes, Service& service, const Tokens* tokens, GatewayOptions options)
    : router_(std::move(routes)), service_(service), tokens_(tokens), options_(std::move(options)) {}

net::HttpApp Gateway::app(std::function<void(const net::HttpLogEntry&)> log) {
  return {
      .admit = [this](net::HttpRequest& request) { return admit(request); },
      .answer = [this](net::HttpRequest& request) { return answer(request); },
      .reject = [this](const net::HttpFault& fault, const net::HttpRequest& request) { return reject(fault, request); },
      .log =
          [this, log = std::move(log)](const net::HttpLogEntry& entry) {
            const RouteMatch match = router_.match(entry.method, entry.path);
            metrics_.count(entry.method, match.route != nullptr ? match.route->path : "", entry.status,
                           static_cast<double>(entry.ms) / 1'000);
            log(entry);
          }};
}

net::HttpAdmission Gateway::admit(net::HttpRequest& request) {
  const auto given_id = request.header("x-request-id");
  request.id = given_id && is_request_id(*given_id) ? *given_id : next_id();
  const Finding found = find(request);
  if (found.status == 0) return {.body_bytes_max = found.match.route->body_bytes_max};
  Response refusal = shaped(found.match.route, found.status, found.sentence, plain(request));
  finish(refusal, request);
  if (found.status == 405) refusal.headers.emplace_back("Allow", joined(found.match.other_methods));
  return {.body_bytes_max = 0, .refusal = std::move(refusal)};
}

Response Gateway::answer(net::HttpRequest& request) {
  Finding found = find(request);
  Request mine{{.method = request.method,  // the log reads the method, the path and the id after the answer
                .path = request.path,
                .query = std::move(request.query),
                .headers = std::move(request.headers),
                .body = std::move(request.body),
                .peer = std::move(request.peer),
                .id = request.id,
                .is_abandoned = std::move(request.is_abandoned)},
               {},
               {}};
  if (mine.method == "HEAD") mine.method = "GET";
  if (found.status != 0) return shaped(found.match.route, found.status, found.sentence, mine);  // a token has expired
  mine.path_values = std::move(found.match.path_values);
  mine.submitter = std::move(found.submitter);
  Response response = run(*found.match.route, mine);
  finish(response, mine);
  return response;
}

Response Gateway::reject(const net::HttpFault& fault, const net::HttpRequest& request) {
  const RouteMatch match = router_.match(request.method, request.path);
  Response response = shaped(match.route, fault.status, fault.sentence, plain(request));
  finish(response, request);
  return response;
}

Gateway::Finding Gateway::find(const net::HttpRequest& request) const {
  Finding found{.match = router_.match(request.method, request.path), .submitter = {}, .status = 0, .sentence = {}};
  const auto refuse = [&](int status, std::string sentence) {
    found.status = status;
    found.sentence = std::move(sentence);
    return found;
  };
  if (const auto wrong = browser_error(request)) return refuse(403, *wrong);
  if (found.match.route == nullptr && !found.match.other_methods.empty())
    return refuse(405, "this path takes " + joined(found.match.other_methods) + ", not " + request.method);
  if (found.match.route == nullptr) {
    return refuse(404,
                  "there is no such path; /openapi.json lists all of them, and a slash within a name is written %2F");
  }
  identify(request, found);
  if (found.status != 0) return found;
  if (const auto wrong = query_error(*found.match.route, request.query)) return refuse(400, *wrong);
  const std::string coding = lower(request.header("content-encoding").value_or(""));
  if (request.method == "POST" && !coding.empty() && coding != "identity")
    return refuse(415, "the body has the Content-Encoding " + coding + ", but a body without one is needed");
  return found;
}

// Returns why a request that a web page may have caused is refused, or nothing. A page of another origin can send
// requests to a gateway on this machine although its user never meant to.
std::optional<std::string> Gateway::browser_error(const net::HttpRequest& request) const {
  const std::string host = request.header("host").value_or("");
  if (options_.is_loopback && tokens_ == nullptr && !host.empty() &&
      !net::is_loopback("tcp://" + std::string(host_of(host)) + ":1"))
    return "this gateway serves its own machine: the header field Host must be localhost, 127.0.0.1 or [::1]";
  const auto origin = request.header("origin");
  if (tokens_ == nullptr && origin && lower(*origin) != "http://" + lower(host))
    return "a web page of another origin may not use a gateway without tokens";
  return std::nullopt;
}

void Gateway::identify(const net::HttpRequest& request, Finding& found) const {
  const auto refuse = [&](int status, std::string sentence) {
    found.status = status;
    found.sentence = std::move(sentence);
  };
  const Access access = found.match.route->access;
  const std::string token = token_of(request).value_or("");
  if (access == Access::anyone) return;
  if (options_.operators != nullptr && !token.empty() && options_.operators->find(token)) {
    found.submitter.is_operator = true;
    if (access == Access::operators && options_.key_role != Role::admin)
      refuse(403, "the key of this gateway has the role " + std::string(to_string(options_.key_role)) +
                      "; this needs a gateway whose key has the role admin");
    return;
  }
  if (access == Access::operators && options_.operators == nullptr)
    return refuse(403, "this gateway has no tokens of operators; kq-gateway --operators FILE names a file of them");
  auto submitter = tokens_ == nullptr || token.empty() ? std::nullopt : tokens_->find(token);
  if (submitter) found.submitter = std::move(*submitter);
  if (access == Access::operators && submitter) return refuse(403, "only the token of an operator may do this");
  if (access == Access::operators || (tokens_ != nullptr && !submitter))
    refuse(401, "a valid token is needed in the header field \"Authorization: Bearer TOKEN\"");
}

// Calls the handler, if the route may wait within the limit of waits.
Response Gateway::run(const Route& route, const Request& request) {
  std::shared_ptr<void> place;  // among the waiting requests; a stream, which is made later, keeps it
  if (route.waits) {
    if (!begin_wait(request.submitter.name)) {
      return shaped(&route, 503, "too many requests wait for results at this gateway; send this one again soon",
                    request);
    }
    place = std::shared_ptr<void>(nullptr, [this, name = request.submitter.name](void*) { end_wait(name); });
  }
  Response response;
  try {
    response = route.handler(request, service_);
  } catch (const std::exception& error) {
    return shaped(&route, 500, std::string("the gateway failed on this request: ") + error.what(), request);
  }
  if (response.stream) {
    response.stream = [place, make = std::move(response.stream)](const Write& write) {
      try {
        return make(write);
      } catch (const std::exception&) {  // the status has been sent already
        return false;
      }
    };
  }
  return response;
}

bool Gateway::begin_wait(const std::string& submitter) {
  const std::lock_guard lock(mutex_);
  if (waits_ >= options_.limits.waits_max) return false;
  if (!submitter.empty() && waits_of_[submitter] >= options_.limits.submitter_waits_max) return false;
  ++waits_of_[submitter];
  ++waits_;
  return true;
}

void Gateway::end_wait(const std::string& submitter) {
  const std::lock_guard lock(mutex_);
  if (--waits_of_[submitter] == 0) waits_of_.erase(submitter);
  --waits_;
}

std::string Gateway::next_id() {
  return options_.instance + "-" + std::to_string(++last_id_);
}

}  // namespace kq::gateway
