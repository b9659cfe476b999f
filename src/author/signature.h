#pragma once

#include <optional>
#include <string>
#include <vector>

#include "author/host_code.h"
#include "author/source_facts.h"
#include "compile/pool.h"
#include "spec/element_type.h"

namespace tiletune {

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
  std::vector<MacroText> undefined;   ///< names that need a value to compile, in the order of the source
  std::string type = {};              ///< for template parameters that are types and have no default
  std::vector<Lines> host_code = {};  ///< lines of the source that NVRTC does not compile
  std::string guarded = {};           ///< the source with these between #ifndef __CUDACC_RTC__ and #endif
};

/// What is compiled in the place of a request so that the names of its kernels' symbols tell their
/// parameters. Bodies of kernels that are templates are not instantiated.
CompileRequest types_request(CompileRequest request);
/// The types that such a symbol tells; empty where it tells none.
std::vector<ParameterType> parameter_types(std::string_view symbol);

/// Compiles the source with a first value for each name that it leaves undefined, and reads the types of the
/// kernel's parameters from what comes out. A template parameter that is a type becomes the first of some
/// with which the kernel compiles. Throws UserError with the compiler's message where it does not compile.
Signature read_signature(const CompilePoolOptions& options, const KernelSource& source,
                         const std::string& architecture, const SourceFacts& facts, const KernelText& kernel);

}  // namespace tiletune
