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
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "producer/client/json.h"

namespace kq::gateway {

class Service;

// The submitter that a token names. A gateway without tokens has one submitter without a name, which sees every run.
struct Submitter {
  std::string name;             // empty: the gateway has no tokens
  std::uint64_t jobs_max = 0;   // the most queued jobs of this submitter; 0: only the broker's own quota counts
  std::string given_name = {};  // a name that a client without a token gives itself; it decides nothing but the share
};

struct Request {
  std::string method;                              // "GET", "POST", "PUT" or "DELETE"
  std::string path;                                // decoded, without the query: "/api/v1/jobs/17"
  std::map<std::string, std::string> path_values;  // the decoded values of the names in Route::path
  std::map<std::string, std::string> query;        // decoded; of a repeated name the last value
  std::map<std::string, std::string> headers;      // by name in lower case; repeated ones are joined by ", "
  std::string body;                                // complete, at most the limit of the route
  Submitter submitter;
  std::string peer;  // the address of the client, for the log
  std::string id;    // names the request in the access log and in problem details
  std::function<bool()> is_abandoned = [] { return false; };  // whether the client has closed the connection

  // Returns the value of a query parameter or a header, or nothing where it is absent.
  std::optional<std::string_view> query_value(const std::string& name) const;
  std::optional<std::string_view> header(const std::string& name_in_lower_case) const;
};

// Writes a part of a body. Returns false once the client has gone; the producer of the body then returns.
using Write = std::function<bool(std::string_view bytes)>;

struct Response {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  std::function<void(const Write& write)> stream;  // where it is set, it makes the body, which has no known length
};

enum class Access {
  anyone,     // no token is needed: /health, /openapi.json
  submitter,  // a token is needed, where the gateway has tokens
};

using Handler = std::function<Response(const Request& request, Service& service)>;

// The shape of the errors that the frame itself answers on a route: a missing token, a body that is too long, a full
// gateway. `error` is a sentence for people.
using ErrorShape = Response (*)(int status, const std::string& error, const Request& request);

struct Route {
  std::string method;
  std::string path;  // "/api/v1/jobs/{id}": a name in braces stands for one part between slashes
  Access access = Access::submitter;
  Handler handler;
  ErrorShape error_shape = nullptr;        // nullptr: problem() below
  std::size_t body_bytes_max = 64u << 10;  // a longer body is answered 413 before it is read
  bool waits = false;                      // whether the handler may wait for a result; such requests are counted
};
using Routes = std::vector<Route>;

// Returns an answer with one JSON value as its body.
Response json_response(int status, const producer::Json& body);

// Returns the RFC 9457 problem details (application/problem+json) of an error, the shape of errors under /api/v1.
Response problem(int status, const std::string& detail, const Request& request);

// Returns the status for an Error of the Service: 400 bad_input, 404 not_found, 503 our_fault or interrupted (the
// broker does not answer, the gateway stops), 504 gave_up.
int status_of(ErrorKind kind);

}  // namespace kq::gateway
