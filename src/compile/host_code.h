#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compile/source.h"

namespace tiletune {

/// Lines of a file in which a compiler's log reports errors, by the file's name.
using ErrorLines = std::map<std::string, std::set<int>>;
/// Reads "k.cu(12): error: ..." and "k.cu(1): catastrophic error: ...". A static assertion that fails is no
/// error of host code: it refuses a configuration. `of_unknown_names`: errors of what no header declares
/// alone.
ErrorLines error_lines(std::string_view log, bool of_unknown_names = false);

/// What a file holds for the host's compiler: functions that launch kernels, #include <vector>. Which parts
/// these are is known once NVRTC refuses them.
class HostCode {
 public:
  /// `used`: names that device code of other files uses.
  explicit HostCode(std::string text, const std::set<std::string>& used = {});

  /// Leaves out the parts that have one of these lines: #includes in angle brackets without "..", and
  /// functions that no kernel uses; with `others`, instead any declaration without __global__, __device__ and
  /// the like, for lines that name what is not known. Returns false if no line is in a part that is not left
  /// out yet.
  bool leave_out(const std::set<int>& lines, bool others = false);
  /// Leaves out what includes headers, such as "<vector>", that are not readable.
  bool leave_out_headers(const std::function<bool(const std::string& header)>& is_readable);

  /// "1, 5, 7-9": those of what was left out.
  std::string lines() const;
  /// The text with spaces in its place.
  std::string blanked() const;
  /// What device code here names, directly or through what it names.
  const std::set<std::string>& used() const { return used_; }

 private:
  struct Part {
    std::size_t begin, end;   ///< in the text
    int first, last;          ///< lines, from 1
    bool is_other = false;    ///< neither an #include nor a function that no kernel uses
    std::string header = {};  ///< of an #include, with its brackets or quotes
    bool left_out = false;
  };

  std::string text_;
  std::set<std::string> used_;
  std::vector<Part> parts_;  ///< in order
};

/// The host code of a kernel's source and of the headers in its folders.
class HostCodeOfKernel {
 public:
  explicit HostCodeOfKernel(const KernelSource& source) : source_(source.name, HostCode(source.text)) {}

  /// Leaves out what may be host code and explains errors of the log. `files` are the kernel's own headers.
  /// Where a header of elsewhere has errors, those that are not readable are left out. False: nothing is.
  /// Before anything is left out that a kernel may need, `log_before` becomes the log, unless it has one.
  bool leave_out(const std::string& log, std::string& log_before, const KernelSource& source,
                 const Dependencies& files,
                 const std::function<bool(const std::string& header)>& is_readable);

  /// The source without it.
  std::string text() const { return source_.second.blanked(); }
  /// The headers without it, by their names in Dependencies.
  std::map<std::string, std::string> headers() const;
  /// What shows why the last log has no success: the one before, if any, and what is missing or left out.
  std::string explained(const std::string& log, const std::string& log_before) const;

 private:
  std::pair<std::string, HostCode> source_;  ///< with its name
  std::map<std::string, HostCode> headers_;
  std::string missing_;  ///< logs of headers that were not found
};

}  // namespace tiletune
