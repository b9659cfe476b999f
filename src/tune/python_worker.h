#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/fields.h"
#include "space/instance.h"

namespace tiletune {

/// The type of the numbers that a function gets for a buffer: NumPy has none for bf16 and fp8, whose values
/// f32 holds.
ElementType numpy_type_of(ElementType type);

/// Makes the .npy file of an input's values, without padding. Throws UserError when it cannot be written.
void write_input(const std::filesystem::path& path, const Workload::SizedBuffer& buffer, std::uint64_t seed);

/// Makes a file of that many zero bytes, at least one. Throws UserError when it cannot be made.
void make_zeros(const std::filesystem::path& path, std::uint64_t bytes);

/// What a Python worker makes, and which Python it becomes then.
struct PythonWork {
  /// A file of generated values.
  struct Input {
    std::string path;
    Workload::SizedBuffer buffer;
    std::uint64_t seed = 0;

    static constexpr auto fields() {
      return std::tuple{field("path", &Input::path), field("buffer", &Input::buffer),
                        field("seed", &Input::seed)};
    }
  };
  /// A file that Python writes.
  struct Output {
    std::string path;
    std::uint64_t bytes = 0;

    static constexpr auto fields() {
      return std::tuple{field("path", &Output::path), field("bytes", &Output::bytes)};
    }
  };

  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::vector<std::string> readable;  ///< files and folders, wherever links lead
  /// Untrusted files and folders, whose paths were resolved: a link in one means that it was exchanged
  /// since.
  std::vector<std::string> readable_without_links;
  std::vector<std::string> command;  ///< the executable and its arguments
  std::uint64_t memory_bytes = 0;

  static constexpr std::string_view kMessage = "python";
  static constexpr auto fields() {
    using W = PythonWork;
    return std::tuple{
        field("inputs", &W::inputs),     field("outputs", &W::outputs),
        field("readable", &W::readable), field("readable_without_links", &W::readable_without_links),
        field("command", &W::command),   field("memory_bytes", &W::memory_bytes)};
  }
};

/// The only message of a Python worker: it becomes Python now, whose function is not to write more.
struct PythonStarts {
  std::string failure;  ///< why it does not; empty where it does
  std::string remedy;

  static constexpr std::string_view kMessage = "starts";
  static constexpr auto fields() {
    return std::tuple{field("failure", &PythonStarts::failure), field("remedy", &PythonStarts::remedy)};
  }
};

/// The body of the hidden `python-worker` subcommand: makes the files of the work that comes by its channel,
/// confines itself and becomes Python, which keeps the channel open to its end. Returns only where that does
/// not succeed, the exit code.
int run_python_worker();

}  // namespace tiletune
