#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tiletune {

/// Lines of a source, from 1; both belong to it.
struct Lines {
  int first = 0;
  int last = 0;
};
/// "lines 1-2, 5 and 7-9"
std::string lines_text(const std::vector<Lines>& lines);

/// What a source holds for the host's compiler: functions that launch kernels, #include <vector>. Which parts
/// these are is known once NVRTC refuses them.
class HostCode {
 public:
  explicit HostCode(std::string text);

  /// Leaves out the parts in which the compiler's log reports errors: #includes in angle brackets, and
  /// functions that no kernel uses; or else, `others`, such declarations of any kind without __global__,
  /// __device__ and the like. False when there is none in `log` that is not left out yet.
  bool leave_out(std::string_view log, const std::string& file, bool others = false);

  /// What was left out, in order.
  std::vector<Lines> lines() const;
  /// The source with spaces in its place.
  std::string blanked() const;
  /// The source with that between #ifndef __CUDACC_RTC__ and #endif.
  std::string guarded() const;

 private:
  struct Part {
    std::size_t begin, end;  ///< in the text
    Lines lines;
    bool is_other = false;  ///< neither an #include nor a function that no kernel uses
    bool left_out = false;
  };

  std::vector<Part> left_out() const;

  std::string text_;
  std::vector<Part> parts_;  ///< in order
};

}  // namespace tiletune
