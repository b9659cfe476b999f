#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/reader.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// The names that problems may set: the type variables and options of an operation.
std::vector<std::string> setting_names(const Operation& operation);

/// What a problem sets of the types and options that have these names. Throws UserError.
Choices read_settings(const JsonNode& problem, const std::vector<std::string>& names);

/// A problem of the template's operation: "4096x4096x64 lda=128 layout=nt", 4096 or
/// {"M": 4096, "N": 4096, "K": 64, "lda": 128, "layout": "nt"}. `settings` are the names that read_settings()
/// reads. Throws UserError.
Problem read_problem(const JsonNode& node, const TemplateSpec& kernel,
                     const std::vector<std::string>& settings);

/// The sizes of a problem's text, then its leading dimensions: {"1000x77x513", "lda=520"}. At least one word.
std::vector<std::string> problem_words(const std::string& text);

/// The numbers of a problem's text as they are written, of whatever operation and in whatever range: {"1000",
/// "77", "80"} of "1000x77 lda=80". None for text that is not sizes and leading dimensions: it can only be a
/// name.
std::optional<std::vector<std::string>> written_sizes(const std::string& text);

/// Problems as given on the command line, checked like a config's.
std::vector<Problem> parse_problems(const std::vector<std::string>& texts, const TemplateSpec& kernel,
                                    const Where& where);

/// "1000x77, 2048x2048"; "5 problems" where there are too many to name.
std::string problems_text(const std::vector<Problem>& problems);

}  // namespace tiletune
