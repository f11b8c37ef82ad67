// The report of a run: one HTML file that needs nothing else. A run with more jobs than one page may hold gets further
// pages with the details of its jobs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/report/jobs/job_details.h"
#include "tools/report/jobs/job_table.h"
#include "tools/report/page.h"
#include "tools/report/plots.h"
#include "tools/report/run/run_summary.h"

namespace kq::tools {

inline constexpr std::size_t kPageJobsMax = 1'000;           // jobs whose details one page holds
inline constexpr std::size_t kPageDetailBytesMax = 900'000;  // of packed details in one page of at most 2 MB

struct ReportOptions {
  std::string run = {};
  std::string source = {};   // of the rows: a URL or a store
  std::string made_at = {};  // RFC 3339
};

// A file of the report. Only the first file is the one that a reader opens.
struct ReportFile {
  std::string name = {};
  std::string html = {};
};

class RunReport {
 public:
  RunReport(ReportOptions options, ReadSource read);
  Expected<void> add(const RunRow& row);
  // Returns the pages. `name` is the file name of the first page, such as "r1.html".
  std::vector<ReportFile> pages(const PageFiles& files, const std::string& name);
  std::size_t job_count() const { return table_.size(); }

 private:
  // The jobs of one page.
  struct Part {
    JobTable table;
    std::vector<std::string> groups;  // packed
    std::size_t bytes = 0;
  };
  void end_group();
  std::string overview_body(const PageFiles& files, const RunSummary& summary,
                            const std::vector<PlotValues>& plots) const;

  ReportOptions options_;
  ReadSource read_;
  SummaryBuilder summary_;
  PlotBuilder plots_;
  JobTable table_;  // of all jobs
  std::vector<Part> parts_;
  JobGroup group_;
};

}  // namespace kq::tools
