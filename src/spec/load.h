#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "spec/tune_spec.h"

namespace tiletune {

struct LoadOptions;
/// A document of another tool that stands for a config; nothing where it is none. Throws UserError.
using ReadOther = std::optional<TuneSpec> (*)(const nlohmann::ordered_json& document,
                                              const std::filesystem::path& file,
                                              const std::filesystem::path& folder,
                                              const LoadOptions& options);

struct LoadOptions {
  /// Where templates are looked up by name; searched in order after the config's own folder.
  std::vector<std::filesystem::path> template_folders;
  /// Paths in configs and manifests may leave the config's folder and the template folder.
  bool allow_outside_paths = false;
  /// Templates may let larger errors pass than kMostToleranceFactor and kMostRelativeTolerance.
  bool allow_loose = false;
  /// Replaces the config's problems when not empty ("4096x4096x4096", "4096", "4096,layout=nt").
  std::vector<std::string> problems;
  /// A file (spec/problem.h) whose problems replace the config's; it may repeat a problem. Not together with
  /// `problems`.
  std::filesystem::path problem_file;
  /// Keeps only these templates when not empty; unknown names are errors.
  std::vector<std::string> templates;
  /// Takes what is wrong with templates, one mistake of each, instead of its being thrown; the others are
  /// read.
  std::vector<UserError>* faults = nullptr;
  /// Asked before a document is taken for a config.
  ReadOther read_other = nullptr;
};

/// Reads and validates a config and every manifest it names. Throws UserError with file, JSON pointer, what
/// was found, what was expected and, for misspelt names, the nearest known one.
TuneSpec load_tune_spec(const std::filesystem::path& config, const LoadOptions& options);
/// Reads a config that no file holds, as load_tune_spec() does. `place` stands for the file in messages;
/// templates are looked up in the options' folders alone.
TuneSpec parse_tune_spec(const std::string& config, const std::string& place, const LoadOptions& options);

/// Reads and validates one manifest. It is read beneath its folder unless the options let it lie outside.
/// `variant` is one that it offers; null: its default.
TemplateSpec load_template(const std::filesystem::path& manifest, const LoadOptions& options,
                           const Variant* variant = nullptr);

/// A problem of the template's operation: "4096x4096x64", or "4096" for all dimensions alike; behind it, set
/// off by commas or spaces, leading dimensions: "1000x77x513,lda=520". `settings` are names that may have
/// values there, too, which are not read. Throws UserError.
Problem parse_problem(const std::string& text, const TemplateSpec& kernel, const Where& where,
                      const std::vector<std::string>& settings = {});

}  // namespace tiletune
