// The requests, answers and routes of kq-gateway, independent of the HTTP library.
//
// A door of the gateway, such as kq's own REST or the evaluation server's requests, is a table of routes. A handler is
// a function from a Request and the Service to a Response. Handlers run on many threads at once, hold no state of their
// own, and may block: a thread belongs to one connection.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "net/http/message.h"
#include "producer/client/json.h"

namespace kq::gateway {

class Service;

// The submitter that a token names. A gateway without tokens has one submitter without a name, which sees every run.
struct Submitter {
  std::string name;            // empty: the gateway has no tokens
  std::uint64_t jobs_max = 0;  // the most queued jobs of this submitter; 0: only the broker's own quota counts
  bool is_operator = false;    // may operate the queue. An operator has no name as submitter, and sees every run

  friend bool operator==(const Submitter&, const Submitter&) = default;
};

// A request with what the frame knows about it. `path` is as the client sent it; the decoded parts that a route names
// are in path_values. `id` is also in the answer's header X-Request-Id and in problem details.
struct Request : net::HttpRequest {
  std::map<std::string, std::string> path_values;  // the decoded values of the names in Route::path
  Submitter submitter;
};

using Write = net::HttpWrite;
using Response = net::HttpResponse;

enum class Access {
  anyone,     // no token is needed: /health, /openapi.json
  submitter,  // a token is needed, where the gateway has tokens
  operators,  // the token of an operator is needed
};

using Handler = std::function<Response(const Request& request, Service& service)>;

// The shape of the errors that the frame itself answers on a route: a missing token, a body that is too long, a full
// gateway. `error` is a sentence for people.
using ErrorShape = Response (*)(int status, const std::string& error, const Request& request);

// A parameter of a query that a route takes.
struct QueryParameter {
  std::string name;
  bool may_be_empty = false;  // ?name= means the same as leaving it out, not a variable that a script has not set
  bool may_repeat = false;
};

struct Route {
  std::string method;
  std::string path;  // "/api/v1/jobs/{id}": a name in braces stands for one part between slashes
  Access access = Access::submitter;
  Handler handler;
  ErrorShape error_shape = nullptr;        // nullptr: problem() below
  std::size_t body_bytes_max = 64u << 10;  // a longer body is answered 413 before it is read
  bool waits = false;                      // whether the handler may wait for a result; such requests are counted
  std::vector<QueryParameter> parameters = {};
  // Whether other parameters are passed over, as the foreign servers do whose clients the route serves. Otherwise they
  // are answered 400.
  bool takes_any_parameter = false;
};
using Routes = std::vector<Route>;

// Returns why the query does not fit the route: an unknown, a repeated or an empty parameter; nothing where it fits.
std::optional<std::string> query_error(const Route& route, const std::multimap<std::string, std::string>& query);

// Returns an answer with one JSON value as its body.
Response json_response(int status, const producer::Json& body);

// Returns the RFC 9457 problem details (application/problem+json) of an error, the shape of errors under /api/v1, with
// further members behind the standard ones.
Response problem(int status, const std::string& detail, const Request& request, producer::JsonObject more = {});

// Returns the status for an Error of the Service: 400 bad_input, 404 not_found, 503 our_fault or interrupted (the
// broker does not answer, the gateway stops), 504 gave_up.
int status_of(ErrorKind kind);
Response problem_of(const Error& error, const Request& request);

inline constexpr int kRetryAfterSeconds = 1;  // the header Retry-After of an answer 503

}  // namespace kq::gateway
