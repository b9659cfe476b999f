#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compile/source.h"

namespace tiletune {

/// Lines of a file in which a compiler's log reports errors, by the file's name.
using ErrorLines = std::map<std::string, std::set<int>>;
/// Reads "k.cu(12): error: ..." and "k.cu(1): catastrophic error: ...". A static assertion that fails is no
/// error of host code: it refuses a configuration. `of_unknown_names`: errors of what no header declares
/// alone.
ErrorLines error_lines(std::string_view log, bool of_unknown_names = false);

/// Whether a header may be missing where kernels are compiled: <vector>, <unistd.h>, <torch/extension.h>. Any
/// other one may declare what device code means.
bool is_for_hosts(std::string_view header);

/// What a file holds for the host's compiler: functions that launch kernels, #include <vector>. Which parts
/// these are is known once NVRTC refuses them.
class HostCode {
 public:
  explicit HostCode(std::string_view text);

  /// Adds to the names in use those that device code here mentions, and those that declarations and macros of
  /// names in use mention. "f(" stands for f where it is called.
  void add_used(std::set<std::string>& used);

  /// Leaves out the parts that have one of these lines and whose names are not in use: #includes of headers
  /// for hosts, and functions; with `others`, instead other declarations. What is marked as device code, or
  /// has a static assertion, stays. Returns false if no line is in a part that is not left out yet.
  bool leave_out(const std::set<int>& lines, const std::set<std::string>& used, bool others = false);
  /// Leaves out what includes headers, such as "<vector>", that are for hosts. Returns whether there are any.
  bool leave_out_headers(const std::function<bool(const std::string& header)>& is_for_host);
  /// Takes all #includes back. Returns whether anything else is left out.
  bool take_back_headers();

  bool includes_for_hosts() const;
  /// "1, 5, 7-9": those of what was left out.
  std::string lines() const;
  /// The text with spaces in its place, but for preprocessor directives.
  std::string blanked() const;

 private:
  struct Part {
    std::size_t begin, end;               ///< in the text
    int first, last;                      ///< lines, from 1
    std::string header = {};              ///< of an #include, with its brackets or quotes
    bool is_other = false;                ///< neither an #include nor a function
    std::vector<std::string> names = {};  ///< that it declares
    bool left_out = false;
  };

  std::string text_;
  std::vector<Part> parts_;                                      ///< in order
  std::vector<std::pair<std::size_t, std::size_t>> directives_;  ///< their places and ends
  std::vector<std::set<std::string>> mentions_;       ///< of declarations and macros, until they are in use
  std::multimap<std::string, std::size_t> meanings_;  ///< by name, places in mentions_; "": device code
};

/// The host code of a kernel's source and of the headers in its folders.
class HostCodeOfKernel {
 public:
  explicit HostCodeOfKernel(const KernelSource& source) : source_(source.name, HostCode(source.text)) {}

  /// Leaves out what may be host code and explains errors of the log. `files` are the kernel's own headers.
  /// Where a header of elsewhere has errors, those that cannot be read are left out. False: nothing is.
  bool leave_out(const std::string& log, const KernelSource& source, const Dependencies& files,
                 const std::function<bool(const std::string& header)>& is_missing,
                 const std::function<bool(const std::string& header)>& is_unreadable);
  /// Leaves out the headers for hosts that are missing: where the compiler came to them, it would stop.
  /// False: there are none.
  bool leave_out_missing(const std::function<bool(const std::string& header)>& is_missing);
  /// Takes all #includes back: another configuration may read them. Returns whether anything else is left
  /// out.
  bool take_back_headers();

  /// The source without it.
  std::string text() const { return source_.second.blanked(); }
  /// The headers without it, by their names in Dependencies.
  std::map<std::string, std::string> headers() const;
  /// The log with what was left out.
  std::string explained(const std::string& log) const;

 private:
  std::pair<std::string, HostCode> source_;  ///< with its name
  std::map<std::string, HostCode> headers_;
  std::set<std::string> used_;  ///< names
};

}  // namespace tiletune
