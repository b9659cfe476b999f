#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "author/source_facts.h"
#include "compile/pool.h"
#include "spec/element_type.h"

namespace tiletune {

/// Lines of a source, from 1; both belong to it.
struct LineRange {
  int first = 0;
  int last = 0;
};
/// "lines 1-2, 5 and 7-9"
std::string lines_text(const std::vector<LineRange>& lines);

/// What a source holds for the host's compiler: functions that launch kernels, #include <vector>. Which parts
/// these are is known once NVRTC refuses them.
class HostCode {
 public:
  explicit HostCode(std::string text);

  /// Leaves out the parts in which the compiler's log reports errors: #includes in angle brackets, and
  /// functions that no kernel uses; with `others`, instead any declarations without __global__,
  /// __device__ and the like. Returns false if `log` has no error in a part that is not left out yet.
  bool leave_out(std::string_view log, const std::string& file, bool others = false);

  /// What was left out, in order.
  std::vector<LineRange> lines() const;
  /// The source with spaces in its place.
  std::string blanked() const;
  /// The source with that between #ifndef __CUDACC_RTC__ and #endif.
  std::string guarded() const;

 private:
  struct Part {
    std::size_t begin, end;  ///< in the text
    LineRange lines;
    bool is_other = false;  ///< neither an #include nor a function that no kernel uses
    bool left_out = false;
  };

  std::vector<Part> left_out() const;

  std::string text_;
  std::vector<Part> parts_;  ///< in order
};

/// The type of a kernel's parameter.
struct ParameterType {
  bool pointer = false;
  bool constant = false;               ///< a pointer's elements are const
  std::optional<ElementType> element;  ///< of the pointer, or the type itself; none: another type
  int lanes = 1;                       ///< 4 for float4

  std::string text() const;  ///< "const float4*"
};

/// What the compiler says of a kernel.
struct Signature {
  std::vector<ParameterType> parameters;
  std::vector<MacroText> undefined;       ///< names that need a value to compile, in the order of the source
  std::string type = {};                  ///< for template parameters that are types and have no default
  std::vector<LineRange> host_code = {};  ///< lines of the source that NVRTC does not compile
  std::string guarded = {};               ///< the source with these between #ifndef __CUDACC_RTC__ and #endif
};

/// The request to compile instead so that the mangled names of its kernels contain their parameter types.
/// Bodies of kernels that are templates are not instantiated.
CompileRequest types_request(CompileRequest request);
/// The parameter types in such a mangled name; empty if it contains none.
std::vector<ParameterType> parameter_types(std::string_view symbol);

/// Compiles the source with a first value for each name that it leaves undefined, and reads the types of the
/// kernel's parameters from the result. For a template parameter that is a type, it tries several types and
/// takes the first that compiles. Throws UserError with the compiler's message if no attempt compiles.
Signature read_signature(const CompilePoolOptions& options, const KernelSource& source,
                         const std::string& architecture, const SourceFacts& facts, const KernelText& kernel);

}  // namespace tiletune
