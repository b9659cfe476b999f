#include "base/text.h"
#include "spec/reader.h"

namespace tiletune {

namespace {

// Without their dashes, of which nvcc takes one or two. NVRTC compiles one whole program for 64 bits. The
// functions and lambdas that two of them allow are valid with --device-as-default-execution-space.
constexpr const char* kLeftOut =
    "O0 O1 O2 O3 g debug pg profile c compile shared v verbose keep m64 m=64 machine=64 x=cu rdc=false "
    "relocatable-device-code=false res-usage resource-usage expt-relaxed-constexpr extended-lambda "
    "expt-extended-lambda allow-unsupported-compiler Wno-deprecated-gpu-targets";
constexpr const char* kLeftOutWithValue =
    "O optimize arch gpu-architecture code gpu-code gencode generate-code Xcompiler compiler-options ccbin "
    "compiler-bindir Xlinker linker-options l library L library-path cudart t threads default-stream";
constexpr const char* kWithValue =
    "D define-macro U undefine-macro std maxrregcount Xptxas ptxas-options m machine x rdc "
    "relocatable-device-code fmad ftz prec-div prec-sqrt diag-suppress";
constexpr const char* kEarlyStandards =
    "std=c++03 std=c++0x std=c++11 std=gnu++03 std=gnu++0x std=gnu++11 std=gnu++14";

bool is_one(std::string_view option, const char* list) { return is_among(option, split(list, ' ')); }

}  // namespace

std::vector<std::string> take_nvcc_options(std::vector<std::string>& options) {
  std::vector<std::string> left_out;
  for (auto option = options.begin(); option != options.end(); ++option) {
    if (!option->starts_with('-')) continue;
    std::string text = option->substr(option->starts_with("--") ? 2 : 1);
    const std::string name = text.substr(0, text.find_first_of("= "));
    const bool is_for_nvcc = is_one(name, kLeftOutWithValue);
    const auto next = std::next(option);
    if (text == name && (is_for_nvcc || is_one(name, kWithValue)) && next != options.end()) {
      const std::string value = (name == "D" || name == "U" ? "" : "=") + std::exchange(*next, "");
      *option += value;
      text += value;
    }
    const bool is_library = (text[0] == 'l' || text[0] == 'L') && text.size() > 1 && name != "lineinfo";
    const bool is_threads = text[0] == 't' && parsed_number<int>(std::string_view(text).substr(1));
    if (is_one(text, kLeftOut) || (is_for_nvcc && text != name) || is_library || is_threads)
      left_out.push_back(std::exchange(*option, ""));
    else if (is_one(text, kEarlyStandards))
      *option = "--std=c++14";
  }
  return left_out;
}

}  // namespace tiletune
